#include <gtest/gtest.h>

#include "support/differential.h"

#if defined(__SANITIZE_ADDRESS__)
// Drivers leave memory of their own behind. They stay loaded, so that it can be told from ours by their names.
extern "C" int dlclose(void*) { return 0; }
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libvulkan\nleak:libgallium\nleak:libEGL\nleak:libGLX\nleak:libLLVM\n";
}
#endif

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  weft::test::register_differential_tests();
  return RUN_ALL_TESTS();
}
