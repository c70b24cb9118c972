// Scans of split rows in a forced form: for tests and benchmarks.
#pragma once

#include "kernels/common/split_rows.h"
#include "weft/kernels/scan.h"

namespace weft::kernels {

void scan_split_rows(Stream& stream, ScanKind op, const View& x, const View& y, int axis, const ScanOptions& options,
                     const SplitForm& form);

}  // namespace weft::kernels
