// Softmax in a form of one's own, of whole rows or in parts: for tests and benchmarks.
#pragma once

#include "kernels/common/row_parts.h"
#include "kernels/common/row_work.h"

namespace weft::kernels {

void softmax_in_form(Stream& stream, const RowViews& views, int axis, bool logarithm, const RowForm& form);
void softmax_in_parts(Stream& stream, const RowViews& views, int axis, bool logarithm, const PartsForm& form);

}  // namespace weft::kernels
