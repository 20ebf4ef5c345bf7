/* Stages of optimal control problems: dynamics, costs and their derivatives. */
#include "@name@.h"
#include "@name@_functions.h"

@stage_definitions@
