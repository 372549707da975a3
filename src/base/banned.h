/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that invite overflow, hidden state or ambiguity. Calling one is a compile error; each
 * has a replacement in base/ or libc. Included by every .c file through the build. */
#pragma once

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat strtok sprintf vsprintf gets
#undef alloca
#pragma GCC poison localtime gmtime ctime asctime atoi atol atoll alloca
