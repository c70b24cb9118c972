// Whether the thread is in a function that compile() traces (weft/traced.h).
#pragma once

namespace weft {

bool tracing();

}  // namespace weft
