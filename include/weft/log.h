// Logging to standard error. WEFT_LOG names a level and topics: "warn" (the default), "info", "debug", "off", and
// topics such as "schedule", separated by commas.
#pragma once

#include <string_view>

namespace weft {

enum class LogLevel { debug, info, warning, off };

// Logs the message, whatever the level that is shown; log_enabled() says whether it is.
void log_message(LogLevel level, std::string_view message);
// True if messages of the level are shown.
bool log_enabled(LogLevel level);
// True if WEFT_LOG names the topic ("schedule", "precision", …; `weft --help-all` lists them) or is "debug".
bool log_topic(std::string_view topic);

// Logs the time since the process began, with `what` was reached, if the topic "start" is on.
void log_mark(std::string_view what);

}  // namespace weft
