// Functions of glibc 2.36 and newer that libraries built with it call, for systems with an older one: reading numbers as
// C23 has it, but for binary prefixes, and random numbers of the system (portable_libraries.py).
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define READS_NUMBER(type, name)                                                          \
  type __isoc23_##name(const char* text, char** end, int base);                           \
  type __isoc23_##name(const char* text, char** end, int base) { return name(text, end, base); }

READS_NUMBER(long, strtol)
READS_NUMBER(long long, strtoll)
READS_NUMBER(unsigned long, strtoul)
READS_NUMBER(unsigned long long, strtoull)

int __isoc23_sscanf(const char* text, const char* format, ...);
int __isoc23_sscanf(const char* text, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int result = vsscanf(text, format, arguments);
  va_end(arguments);
  return result;
}

int __isoc23_fscanf(FILE* file, const char* format, ...);
int __isoc23_fscanf(FILE* file, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int result = vfscanf(file, format, arguments);
  va_end(arguments);
  return result;
}

// Of <sys/random.h>, which C11 alone does not have.
ptrdiff_t getrandom(void* bytes, size_t count, unsigned flags);

void arc4random_buf(void* bytes, size_t count);
void arc4random_buf(void* bytes, size_t count) {
  char* to = bytes;
  while (count > 0) {
    const ptrdiff_t got = getrandom(to, count < 256 ? count : 256, 0);
    if (got < 0 && errno != EINTR) abort();
    if (got < 0) continue;
    to += got;
    count -= (size_t)got;
  }
}

uint32_t arc4random(void);
uint32_t arc4random(void) {
  uint32_t value;
  arc4random_buf(&value, sizeof value);
  return value;
}

// Below `end`, each as often as the others.
uint32_t arc4random_uniform(uint32_t end);
uint32_t arc4random_uniform(uint32_t end) {
  if (end < 2) return 0;
  const uint32_t least = -end % end;
  uint32_t value;
  do value = arc4random();
  while (value < least);
  return value % end;
}
