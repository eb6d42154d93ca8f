"""What the end-to-end tests are written with: one idea a module.

process   a program under test: its lines, its signals, its exit code
gateway   `penstock run` with a configuration of its own, its pages and its invariants
engine    `penstock engine`, the stand-in
upstream  a scripted replica: exact bytes, at the moment the test says
wire      an HTTP client that hides nothing
waiting   conditions with a guard against hanging
"""
