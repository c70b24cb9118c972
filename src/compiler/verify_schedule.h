// Checks a schedule's memory plan, independently of how it was made.
#pragma once

#include "compiler/schedule.h"

namespace weft::compiler {

// Follows the steps one by one with a map of the content of each byte. Throws InternalError if a step reads bytes that
// do not hold the operand that it was given (never written, or overwritten since), reads and writes one buffer other
// than in place, writes two of its results or scratch to one buffer, or exceeds a buffer. Every executable is checked
// when it is made.
void verify_schedule(const Schedule& schedule, const PlannedSchedule& planned);

}  // namespace weft::compiler
