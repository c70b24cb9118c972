#include <gtest/gtest.h>

#include "kernels/options.h"
#include "support/differential.h"
#include "support/problem_counts.h"
#include "support/quick.h"

#if defined(__SANITIZE_THREAD__)
// Drivers and Dawn are not built for the sanitizer, which reports their internal synchronisation as races. For Dawn
// only the affected functions are listed, because Weft's calls are on these stacks too.
extern "C" const char* __tsan_default_suppressions() {
  return "race:libvulkan_lvp.so\nrace:libgallium\nrace:dawn::native::AsyncTask\n"
         "race:dawn::native::DeviceBase::APICreateComputePipelineAsync\nrace:tint::SymbolTable\n";
}
#endif

#if defined(__SANITIZE_ADDRESS__)
// Drivers leak; and a failed allocation is an error like any other here.
extern "C" const char* __asan_default_options() { return "detect_leaks=0:allocator_may_return_null=1"; }
#endif

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  weft::kernels::set_options_checked(true);
  weft::test::register_differential_tests();
  const int result = RUN_ALL_TESTS();
  weft::test::print_problem_counts();
  weft::test::print_quick();
  return result;
}
