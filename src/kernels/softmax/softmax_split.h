// Softmax in a forced form, of whole or split rows: for tests and benchmarks.
#pragma once

#include "kernels/common/row_fusion.h"
#include "kernels/common/split_rows.h"

namespace weft::kernels {

void softmax_in_form(Stream& stream, const RowViews& views, int axis, bool logarithm, const RowForm& form);
void softmax_split_rows(Stream& stream, const RowViews& views, int axis, bool logarithm, const SplitForm& form);

}  // namespace weft::kernels
