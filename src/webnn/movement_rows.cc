#include "webnn/op_rows.h"

namespace weft::webnn {

void add_movement_rows(std::vector<Op>&) {}

}  // namespace weft::webnn
