#include "derivatives/cases.h"

namespace weft::test {

void add_network_derivatives(DerivativeCases&) {}

}  // namespace weft::test
