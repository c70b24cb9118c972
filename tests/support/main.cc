#include <gtest/gtest.h>

#include "support/differential.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  weft::test::register_differential_tests();
  return RUN_ALL_TESTS();
}
