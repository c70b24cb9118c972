// What a process's end does to threads that use a GPU without being InWeft, such as those that destroy a buffer.
#pragma once

#include <atomic>

#include "weft/process.h"

namespace weft {

// Once threads that were InWeft when the process ended have left it.
extern std::atomic<bool> devices_end;

// Returns at once on the thread that ends the process, else as late as InWeft's constructor. The caller holds no lock.
void stay_at_process_end();
bool ends_the_process();

// Calls the function when the main thread ends, if it ends the process, before any object with static lifetime is
// destroyed (of a driver or a compiler, which its threads may be using); the process may go on to use Weft, and a GPU.
void before_static_objects(std::function<void()> function);

// Once a GPU was opened: what at_process_end() says also happens without end_before_static_objects().
void end_before_drivers();

}  // namespace weft
