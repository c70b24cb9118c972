// Problems for forms_test.cc alone, which plans them and does not run them: tensors larger than a test can fill, forms
// that launchers take only for these, and kernels that have no generator of random problems. Their views have no memory.
#pragma once

#include <map>
#include <string>

#include "support/differential.h"

namespace weft::test {

const std::map<std::string, Generator>& forms_cases();

}  // namespace weft::test
