// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// func prefetch(p unsafe.Pointer, at uintptr)
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD at+8(FP), R1
	ADD R1, R0
	PRFM (R0), PLDL1KEEP
	RET

// func prefetchLines(p unsafe.Pointer, n uintptr)
TEXT ·prefetchLines(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD n+8(FP), R1
	ADD  R0, R1
next:
	PRFM (R0), PLDL1KEEP
	ADD  $64, R0
	CMP  R1, R0
	BLT  next
	RET
