#include "gradient_table.h"
int gradient_table_step(void) { return 0; }
