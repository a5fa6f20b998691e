#include "gradient_table.h"
int gradient_table_motion(void) { return 0; }
