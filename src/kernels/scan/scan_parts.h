// Scans of rows in parts, in a form of one's own: for tests and benchmarks.
#pragma once

#include "kernels/common/row_parts.h"
#include "weft/kernels/scan.h"

namespace weft::kernels {

void scan_in_parts(Stream& stream, ScanOp op, const View& x, const View& y, int axis, const ScanOptions& options,
                   const PartsForm& form);

}  // namespace weft::kernels
