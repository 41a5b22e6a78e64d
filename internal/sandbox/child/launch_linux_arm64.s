#include "textflag.h"

// The header of an image, see image_linux.go.
#define HEADER 0x801000
#define ENVIRONMENT 0  // where the address of the environment goes
#define STATUS 8       // of a child
#define FIRST 16       // address of the first call

// A call.
#define NUMBER 0
#define RESULT 8       // where the result goes; 0: nowhere
#define AGAIN 16       // and where it goes as well
#define FAILURE 24     // text; 0: it may fail
#define LENGTH 32      // of that text
#define EXIT 40        // status when it fails
#define FORKS 48
#define ARGS 56
#define SIZE 104

#define SYS_write 64
#define SYS_exit_group 94
#define SYS_wait4 260

// func launch()
// It begins as the kernel starts a program: argc, the arguments and the environment
// are on the stack. R19 is the call, R20 the child that is waited for.
TEXT ·launch(SB), NOSPLIT|NOFRAME, $0-0
	MOVD $HEADER, R19
	MOVD RSP, R9
	MOVD 0(R9), R10
	ADD  $16, R9
	ADD  R10<<3, R9
	MOVD ENVIRONMENT(R19), R10
	MOVD R9, 0(R10)
	MOVD FIRST(R19), R19

next:
	MOVD NUMBER(R19), R8
	MOVD (ARGS+0)(R19), R0
	MOVD (ARGS+8)(R19), R1
	MOVD (ARGS+16)(R19), R2
	MOVD (ARGS+24)(R19), R3
	MOVD (ARGS+32)(R19), R4
	MOVD (ARGS+40)(R19), R5
	SVC
	CMN  $4095, R0
	BHS  failed
	MOVD RESULT(R19), R9
	CBZ  R9, stored
	MOVD R0, 0(R9)
	MOVD AGAIN(R19), R9
	CBZ  R9, stored
	MOVD R0, 0(R9)

stored:
	MOVD FORKS(R19), R9
	CBZ  R9, advance
	CBNZ R0, parent

advance:
	ADD $SIZE, R19
	B   next

failed:
	MOVD FAILURE(R19), R1
	CBZ  R1, advance
	NEG  R0, R0
	MOVD LENGTH(R19), R2
	ADD  R1, R2, R9
	SUB  $2, R9 // the last place before the line ends
	MOVD $10, R10

digit:
	UDIV R10, R0, R11
	MSUB R10, R0, R11, R12 // R0 - R10*R11
	ADD  $'0', R12
	MOVB R12, 0(R9)
	SUB  $1, R9
	MOVD R11, R0
	CBNZ R0, digit
	MOVD $SYS_write, R8
	MOVD $2, R0
	SVC
	MOVD EXIT(R19), R0

exit:
	MOVD $SYS_exit_group, R8
	SVC

parent:
	MOVD R0, R20

wait:
	MOVD $SYS_wait4, R8
	MOVD $-1, R0
	MOVD $(HEADER+STATUS), R1
	MOVD ZR, R2
	MOVD ZR, R3
	SVC
	CMP  R20, R0
	BEQ  ended
	CMN  $10, R0 // ECHILD
	BNE  wait
	MOVD $1, R0
	B    exit

ended:
	MOVD $HEADER, R9
	MOVW STATUS(R9), R1
	ANDS $0x7f, R1, R0
	BNE  signal
	LSR  $8, R1
	AND  $0xff, R1, R0
	B    exit

signal:
	ADD $128, R0
	B   exit

	WORD $0x616b6966 // "fika end"
	WORD $0x646e6520
	RET

// func launchAddress() unsafe.Pointer
TEXT ·launchAddress(SB), NOSPLIT, $0-8
	MOVD $·launch(SB), R0
	MOVD R0, ret+0(FP)
	RET
