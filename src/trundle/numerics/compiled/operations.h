/* What operations of CasADi make of their operands x and y, by CasADi's names of them. Their numbers are their places:
 * `trundle.numerics.compiled.tape` reads them from here. */
#define ARITHMETIC(EACH) \
    EACH(ASSIGN, x) EACH(LIFT, x) EACH(ADD, x + y) EACH(SUB, x - y) EACH(MUL, x * y) EACH(DIV, x / y) EACH(NEG, -x) \
    EACH(SQ, x * x) EACH(TWICE, x + x) EACH(INV, 1.0 / x)
#define FUNCTIONS(EACH) \
    EACH(EXP, exp(x)) EACH(LOG, log(x)) EACH(SQRT, sqrt(x)) EACH(SIN, sin(x)) EACH(COS, cos(x)) EACH(TAN, tan(x)) \
    EACH(ASIN, asin(x)) EACH(ACOS, acos(x)) EACH(ATAN, atan(x)) EACH(FLOOR, floor(x)) EACH(CEIL, ceil(x)) \
    EACH(FABS, fabs(x)) EACH(ERF, erf(x)) EACH(SINH, sinh(x)) EACH(COSH, cosh(x)) EACH(TANH, tanh(x)) \
    EACH(ASINH, asinh(x)) EACH(ACOSH, acosh(x)) EACH(ATANH, atanh(x)) EACH(LOG1P, log1p(x)) EACH(EXPM1, expm1(x)) \
    EACH(POW, pow(x, y)) EACH(CONSTPOW, pow(x, y)) EACH(FMOD, fmod(x, y)) EACH(COPYSIGN, copysign(x, y)) \
    EACH(FMIN, fmin(x, y)) EACH(FMAX, fmax(x, y)) EACH(ATAN2, atan2(x, y)) EACH(HYPOT, hypot(x, y)) \
    EACH(REMAINDER, remainder(x, y)) EACH(LT, x < y) EACH(LE, x <= y) EACH(EQ, x == y) EACH(NE, x != y) EACH(NOT, !x) \
    EACH(AND, x && y) EACH(OR, x || y) EACH(SIGN, x < 0 ? -1 : x > 0 ? 1 : x) EACH(IF_ELSE_ZERO, x == 0 ? 0 : y)

#define NAMED(NAME, RESULT) OP_##NAME,
enum { ARITHMETIC(NAMED) FUNCTIONS(NAMED) OPERATIONS };
