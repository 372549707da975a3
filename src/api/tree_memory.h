/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of JSON trees. A tree is hundreds of small pieces, of which glibc keeps few per thread: most
 * go back to an arena that threads share, to be merged there and cut again for the next tree. */
#pragma once

/* From now on each thread keeps some of the pieces that it frees for its next trees, up to
 * API_TREE_KEPT_BYTES; they are released when the thread ends. Once, before the first
 * thread starts. All memory is still malloc's: free() may release what jansson returns. Does nothing
 * under sanitizers, which would miss a use after free. */
void api_tree_memory_keep(void);

enum { API_TREE_KEPT_BYTES = 32 << 10 };
