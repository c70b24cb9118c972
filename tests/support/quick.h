// How many of its problems a test runs, the same ones each time. In quick runs (WEFT_TESTS_QUICK=on, as ./dev test
// --quick sets it): about an eighth of them, and none after the first second. In ordinary runs: all; on the devices
// minimum and opengles, which are the software GPU in other forms, a third. In whole runs (WEFT_TESTS_WHOLE=on, each
// night): all.
#pragma once

namespace weft::test {

bool quick();
bool whole();

// True if this run skips the running test's next problem; never the first one.
bool leave_out_problem();

// The same for problems of which each compiles several shaders of its own, on a GPU: but whole runs skip all but an
// eighth of what they would run. Each device takes others.
bool leave_out_costly_problem();

// As many of so many random problems as the run has.
unsigned scaled(unsigned problems);

// Called by main at the end: prints how many problems a quick run skipped.
void print_quick();

}  // namespace weft::test
