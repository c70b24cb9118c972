// Softmax in a form of one's own, of whole rows or in parts: for tests and benchmarks.
#pragma once

#include "kernels/common/row_parts.h"
#include "weft/kernels/row_work.h"
#include "weft/view.h"

namespace weft::kernels {

void softmax_in_form(Stream& stream, const View& x, const View& y, int axis, bool logarithm, const RowForm& form);
void softmax_in_form(Stream& stream, std::span<const View> inputs, std::span<const View> outputs, int axis,
                     bool logarithm, const RowWork& work, const RowForm& form);
void softmax_in_parts(Stream& stream, const View& x, const View& y, int axis, bool logarithm, const View& workspace,
                      const PartsForm& form);
std::uint64_t softmax_in_parts_workspace(Stream& stream, const View& x, const View& y, int axis, const PartsForm& form);

}  // namespace weft::kernels
