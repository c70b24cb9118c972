// Quick runs (WEFT_TESTS_QUICK=on, as ./dev test --quick sets it): every test still runs, but only with about a quarter
// of its problems, so that the first answer comes soon. Which problems is fixed, so that a failure comes again.
#pragma once

namespace weft::test {

bool quick();

// Whether a quick run leaves the running test's next problem out; never its first.
bool leave_out_problem();

// A number of random problems, or in a quick run a quarter of it.
unsigned scaled(unsigned problems);

// Called by main at the end: says what a quick run left out.
void print_quick();

}  // namespace weft::test
