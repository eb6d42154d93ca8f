/*
 * commands.h - the subcommands: one file each, one row each in main.c's table.
 *
 * Exit codes: 0 ok, 1 failed, 2 usage or configuration.
 */
#ifndef PST_CMD_COMMANDS_H
#define PST_CMD_COMMANDS_H

#define PST_EXIT_OK     0
#define PST_EXIT_FAILED 1
#define PST_EXIT_USAGE  2

/* argv[0] is the subcommand's name. Returns the exit code. */
int pst_cmd_run(int argc, char **argv);
int pst_cmd_engine(int argc, char **argv);
int pst_cmd_load(int argc, char **argv);
int pst_cmd_sim(int argc, char **argv);
int pst_cmd_plan(int argc, char **argv);
int pst_cmd_check(int argc, char **argv);
int pst_cmd_drain(int argc, char **argv);
int pst_cmd_explain(int argc, char **argv);
int pst_cmd_version(int argc, char **argv);
int pst_cmd_docs(int argc, char **argv); /* prints the generated pages; not listed in --help */

#endif
