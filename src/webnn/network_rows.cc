#include "webnn/op_rows.h"

namespace weft::webnn {

void add_network_rows(std::vector<Op>&) {}

}  // namespace weft::webnn
