// Quick runs (WEFT_TESTS_QUICK=on, as ./dev test --quick sets it): every test still runs, but only with about an eighth
// of its problems, the same ones each time, and with none after the first second; so the first answer comes soon.
#pragma once

namespace weft::test {

bool quick();

// Whether a quick run leaves the running test's next problem out; never its first.
bool leave_out_problem();

// A number of random problems, or in a quick run an eighth of it.
unsigned scaled(unsigned problems);

// Called by main at the end: says what a quick run left out.
void print_quick();

}  // namespace weft::test
