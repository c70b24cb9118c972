#include "derivatives/cases.h"

namespace weft::test {

void add_index_derivatives(DerivativeCases&) {}

}  // namespace weft::test
