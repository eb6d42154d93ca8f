# steps.sh - sourced by the checks: runs one step after another, goes on after a failure, counts.
#
#   step NAME COMMAND...   prints one line; the output is in build/check/NAME.log
#   summary                prints "N passed, N failed" and returns 1 if any failed
#
# A step counts as one, or as many tests as ctest or pytest report in it.

steps_logs=build/check
steps_passed=0
steps_failed=0
mkdir -p "$steps_logs"

# "PASSED FAILED" of a log, or nothing.
steps_counts() {
    /usr/bin/python3 - "$1" <<'PYTHON'
import re, sys
text = open(sys.argv[1], errors="replace").read()
ctest = re.findall(r"^\d+% tests passed, (\d+) tests failed out of (\d+)$", text, re.M)
pytest = [l for l in text.splitlines() if re.match(r"^(=+ )?\d+ (passed|failed|errors?|skipped)\b.* in [\d.]+s", l)]
own = re.findall(r"^(\d+) passed, (\d+) failed$", text, re.M)
passed = failed = 0
for bad, all_of_them in ctest:
    passed, failed = passed + int(all_of_them) - int(bad), failed + int(bad)
for line in pytest:
    found = {what: int(n) for n, what in re.findall(r"(\d+) (passed|failed|errors?|skipped)", line)}
    passed += found.get("passed", 0)
    failed += found.get("failed", 0) + found.get("error", 0) + found.get("errors", 0)
for good, bad in own:
    passed, failed = passed + int(good), failed + int(bad)
if ctest or pytest or own:
    print(passed, failed)
PYTHON
}

step() {
    local name=$1 log=$steps_logs/$1.log began=$SECONDS verdict counts passed failed
    shift
    if "$@" >"$log" 2>&1 </dev/null; then verdict=ok; else verdict=FAILED; fi
    counts=$(steps_counts "$log")
    passed=${counts% *}
    failed=${counts#* }
    if [ -z "$counts" ]; then
        passed=1 failed=0
        [ $verdict = ok ] || { passed=0 failed=1; }
    elif [ $verdict = FAILED ] && [ "$failed" = 0 ]; then
        failed=1
    fi
    steps_passed=$((steps_passed + passed))
    steps_failed=$((steps_failed + failed))
    printf '%-8s %-22s %4d passed %3d failed %5d s\n' "$verdict" "$name" "$passed" "$failed" \
        $((SECONDS - began))
    if [ $verdict = FAILED ]; then
        tail -n 40 "$log" | sed 's/^/    | /'
        echo "    | whole output: $log"
    fi
}

summary() {
    echo
    echo "$steps_passed passed, $steps_failed failed"
    [ $steps_failed = 0 ]
}
