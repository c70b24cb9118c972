#include "derivatives/cases.h"

namespace weft::test {

void add_row_derivatives(DerivativeCases&) {}

}  // namespace weft::test
