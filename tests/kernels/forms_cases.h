// Problems for forms_test.cc alone, which plans them and does not run them: tensors larger than a test can fill, forms
// that launchers take only for these, and kernels that have no generator of random problems. Their views have no
// memory.
//
// Some go through all of a list, functions or forms, instead of drawing one: problem n has what is in its place n
// modulo kFormsCycle, so that so many problems in a row have all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "support/differential.h"

namespace weft::test {

inline constexpr std::uint64_t kFormsCycle = 100;
using NumberedGenerator = std::function<Problem(Rng& rng, std::uint64_t number)>;
const std::map<std::string, NumberedGenerator>& forms_cases();

}  // namespace weft::test
