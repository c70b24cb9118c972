// Quick runs (WEFT_TESTS_QUICK=on, as ./dev test --quick sets it): every test still runs, but with only about an eighth
// of its problems, the same ones each time, and with none after the first second.
#pragma once

namespace weft::test {

bool quick();

// True if a quick run skips the running test's next problem; never the first one.
bool leave_out_problem();

// The same for problems of which each compiles several shaders of its own, on a GPU: unless WEFT_TESTS_WHOLE is on, as in
// nightly runs, any run skips all but an eighth of them. Each device takes others.
bool leave_out_costly_problem();

// A number of random problems, or in a quick run an eighth of it.
unsigned scaled(unsigned problems);

// Called by main at the end: prints how many problems a quick run skipped.
void print_quick();

}  // namespace weft::test
