#include "webnn/op_rows.h"

namespace weft::webnn {

void add_reduction_rows(std::vector<Op>&) {}

}  // namespace weft::webnn
