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

#define SYS_write 1
#define SYS_wait4 61
#define SYS_exit_group 231

// func launch()
// It begins as the kernel starts a program: argc, the arguments and the environment
// are on the stack. R12 is the call, R13 the child that is waited for.
TEXT ·launch(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ $HEADER, R12
	MOVQ 0(SP), AX
	LEAQ 16(SP)(AX*8), AX
	MOVQ ENVIRONMENT(R12), BX
	MOVQ AX, 0(BX)
	MOVQ FIRST(R12), R12

next:
	MOVQ NUMBER(R12), AX
	MOVQ (ARGS+0)(R12), DI
	MOVQ (ARGS+8)(R12), SI
	MOVQ (ARGS+16)(R12), DX
	MOVQ (ARGS+24)(R12), R10
	MOVQ (ARGS+32)(R12), R8
	MOVQ (ARGS+40)(R12), R9
	SYSCALL
	CMPQ AX, $-4095
	JCC  failed
	MOVQ RESULT(R12), BX
	TESTQ BX, BX
	JEQ  stored
	MOVQ AX, 0(BX)
	MOVQ AGAIN(R12), BX
	TESTQ BX, BX
	JEQ  stored
	MOVQ AX, 0(BX)

stored:
	CMPQ FORKS(R12), $0
	JEQ  advance
	TESTQ AX, AX
	JNE  parent

advance:
	ADDQ $SIZE, R12
	JMP  next

failed:
	MOVQ FAILURE(R12), SI
	TESTQ SI, SI
	JEQ  advance
	NEGQ AX
	MOVQ LENGTH(R12), DX
	LEAQ -2(SI)(DX*1), BX // the last place before the line ends
	MOVQ $10, CX

digit:
	XORL DX, DX
	DIVQ CX
	ADDL $'0', DX
	MOVB DX, 0(BX)
	DECQ BX
	TESTQ AX, AX
	JNE  digit
	MOVQ $SYS_write, AX
	MOVQ $2, DI
	MOVQ LENGTH(R12), DX
	SYSCALL
	MOVQ EXIT(R12), DI

exit:
	MOVQ $SYS_exit_group, AX
	SYSCALL

parent:
	MOVQ AX, R13

wait:
	MOVQ $SYS_wait4, AX
	MOVQ $-1, DI
	MOVQ $(HEADER+STATUS), SI
	XORL DX, DX
	XORL R10, R10
	SYSCALL
	CMPQ AX, R13
	JEQ  ended
	CMPQ AX, $-10 // ECHILD
	JNE  wait
	MOVQ $1, DI
	JMP  exit

ended:
	MOVQ $HEADER, BX
	MOVL STATUS(BX), AX
	MOVL AX, DI
	ANDL $0x7f, DI
	JNE  signal
	SHRL $8, AX
	MOVL AX, DI
	ANDL $0xff, DI
	JMP  exit

signal:
	ADDL $128, DI
	JMP  exit

	BYTE $'f'; BYTE $'i'; BYTE $'k'; BYTE $'a'; BYTE $' '; BYTE $'e'; BYTE $'n'; BYTE $'d'
	RET

// func launchAddress() unsafe.Pointer
TEXT ·launchAddress(SB), NOSPLIT, $0-8
	LEAQ ·launch(SB), AX
	MOVQ AX, ret+0(FP)
	RET
