// SPDX-License-Identifier: Apache-2.0

// Package seccomp builds the filter of system calls that every program of a sandbox gets.
//
// The barriers around a sandbox are the network plugin's, and a plugin may handle one family of addresses only. On an IPv4 cluster each Pod
// has an IPv6 link address all the same, and there may be no barrier between two of these. So the filter allows programs the sockets for
// which the barriers were proved, and no others. It also prevents programs from changing the limits and the priority of the tool server,
// which has their user id.
//
// A filter holds for a process and all that it starts, cannot be taken off, and further filters can only refuse more.
package seccomp

import (
	"slices"

	"golang.org/x/net/bpf"
)

// Families are the families of IP of which programs get sockets. Unix sockets they get in any case.
type Families struct{ IPv4, IPv6 bool }

// Actions of the kernel for a call. An error has its number in the low half.
const (
	retAllow = 0x7fff0000
	retError = 0x00050000
	retKill  = 0x80000000

	// notPermitted, noSuchCall and noSuchFamily are errors that programs know, and fall back from.
	notPermitted = retError | 1
	noSuchCall   = retError | 38
	noSuchFamily = retError | 97
	noSuchIoctl  = retError | 25
	unsupported  = retError | 95

	// ignored is the error 0: the call succeeds, and the kernel does nothing.
	ignored = retError
)

// Offsets in the kernel's struct seccomp_data. Both architectures are little-endian: the low half of an argument is first.
const (
	offsetCall = 0
	offsetArch = 4
	offsetArgs = 16
)

// arch is what differs between the architectures.
type arch struct {
	// audit is the number by which the kernel names it.
	audit uint32
	// secondABI is the lowest number of calls that come by another ABI of the same architecture, 0 if there is none.
	secondABI uint32

	socket, socketpair, setsockopt                                   uint32
	prlimit64, setpriority, ioprioSet                                uint32
	schedSetscheduler, schedSetparam, schedSetattr, schedSetaffinity uint32
	ioUringSetup, ioUringEnter, ioUringRegister                      uint32
	ioSetup                                                          uint32
	fallocate, ioctl, prctl                                          uint32
}

var (
	amd64 = arch{
		audit: 0xc000003e, secondABI: 0x40000000, // x32
		socket: 41, socketpair: 53, setsockopt: 54, prlimit64: 302, setpriority: 141, ioprioSet: 251,
		schedSetscheduler: 144, schedSetparam: 142, schedSetattr: 314, schedSetaffinity: 203,
		ioUringSetup: 425, ioUringEnter: 426, ioUringRegister: 427, ioSetup: 206, fallocate: 285, ioctl: 16, prctl: 157,
	}
	arm64 = arch{
		audit:  0xc00000b7,
		socket: 198, socketpair: 199, setsockopt: 208, prlimit64: 261, setpriority: 140, ioprioSet: 30,
		schedSetscheduler: 119, schedSetparam: 118, schedSetattr: 274, schedSetaffinity: 122,
		ioUringSetup: 425, ioUringEnter: 426, ioUringRegister: 427, ioSetup: 0, fallocate: 47, ioctl: 29, prctl: 167,
	}
)

// Numbers of the kernel, the same on both architectures.
const (
	afUnix, afINET, afINET6 = 1, 2, 10

	sockStream, sockDgram = 1, 2
	// sockType is the part of a socket's type that is no flag.
	sockType             = 0xf
	protoTCP, protoUDP   = 6, 17
	solIP, solSocket     = 0, 1
	solIPv6              = 41
	soBroadcast          = 6
	ipAddMembership      = 35
	ipAddSourceMember    = 39
	ipv6JoinGroup        = 20
	ipv6JoinAnycast      = 27
	mcastJoinGroup       = 42
	mcastJoinSourceGroup = 46

	// punchHole is the mode of fallocate that frees a part of a file and keeps its size.
	punchHole = 3
	// fsSetAttributes sets the least that a file takes at once, which may be gigabytes.
	fsReserve, fsReserve64, fsZeroRange = 0x40305828, 0x4030582a, 0x40305839
	fsSetAttributes                     = 0x401c5820
	xfsAllocate, xfsAllocate64          = 0x4030580a, 0x40305824
	// A subvolume of btrfs is another device for a program that counts a folder, and any user may make one.
	btrfsSubvolume, btrfsSubvolume2 = 0x5000940e, 0x50009418
	btrfsSnapshot, btrfsSnapshot2   = 0x50009401, 0x50009417

	setDumpable                = 4
	prioProcess, prioGroup     = 0, 1
	ioprioProcess, ioprioGroup = 1, 2
)

// ServerMark is the third argument of prctl(PR_SET_DUMPABLE), which the kernel ignores. With it the tool server's own processes mark that
// the call is intended. A program that knows it gains nothing: a process that hides its files is ended.
const ServerMark = 0x6d6f746f72636f72

// check holds if a word of the arguments, with the mask laid over it, is a value.
type check struct {
	word     int
	mask, is uint32
}

// low is the low half of an argument. The kernel looks at no more of one that is an int.
func low(argument int, is uint32) check { return check{word: 2 * argument, mask: 0xffffffff, is: is} }

func high(argument int, is uint32) check {
	return check{word: 2*argument + 1, mask: 0xffffffff, is: is}
}

// pattern is what becomes of a call if all its checks hold.
type pattern struct {
	checks []check
	ret    uint32
}

func allow(checks ...check) pattern { return pattern{checks, retAllow} }

// rule is for one system call: the first pattern that fits counts, and otherwise the rule's own action.
type rule struct {
	call      uint32
	patterns  []pattern
	otherwise uint32
}

// Filter builds the filter for the architecture that this program was built for.
func Filter(f Families) ([]bpf.RawInstruction, error) { return bpf.Assemble(native.program(f)) }

// program ends calls of another architecture, among them the socketcall of i386, with their process: an error would only
// confuse a program that cannot even end without a call.
func (a arch) program(f Families) []bpf.Instruction {
	p := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.audit, SkipTrue: 1},
		bpf.RetConstant{Val: retKill},
		bpf.LoadAbsolute{Off: offsetCall, Size: 4},
	}
	if a.secondABI != 0 {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpLessThan, Val: a.secondABI, SkipTrue: 1}, bpf.RetConstant{Val: noSuchCall})
	}
	for _, r := range a.rules(f) {
		p = append(p, r.compile()...)
	}
	return append(p, bpf.RetConstant{Val: retAllow})
}

func (a arch) rules(f Families) []rule {
	// A caller that means another process passes its number; 0 is the caller itself.
	self := []pattern{allow(low(0, 0))}
	return []rule{
		{a.socket, sockets(f), noSuchFamily},
		{a.socketpair, []pattern{allow(low(0, afUnix))}, noSuchFamily},
		{a.setsockopt, toMany(), retAllow},
		// To read limits is harmless. They are set if there is a pointer to new ones.
		{a.prlimit64, append(slices.Clone(self), allow(low(2, 0), high(2, 0))), notPermitted},
		{a.setpriority, []pattern{allow(low(0, prioProcess), low(1, 0)), allow(low(0, prioGroup), low(1, 0))}, notPermitted},
		{a.ioprioSet, []pattern{allow(low(0, ioprioProcess), low(1, 0)), allow(low(0, ioprioGroup), low(1, 0))}, notPermitted},
		{a.schedSetscheduler, self, notPermitted},
		{a.schedSetparam, self, notPermitted},
		{a.schedSetattr, self, notPermitted},
		{a.schedSetaffinity, self, notPermitted},
		// It makes sockets where no filter looks.
		{a.ioUringSetup, nil, notPermitted},
		{a.ioUringEnter, nil, notPermitted},
		{a.ioUringRegister, nil, notPermitted},
		// Its pending work holds files that no process has a descriptor for, and the disk watch cannot find them.
		{a.ioSetup, nil, noSuchCall},
		// A hole frees space. The other modes can fill a disk in no time; programs write zeros instead.
		{a.fallocate, []pattern{allow(low(1, punchHole))}, unsupported},
		{a.ioctl, reservations(), retAllow},
		{a.prctl, hidings(), retAllow},
	}
}

// hidings ignores the request of a process to hide its memory and its files from others of its user: the tool server could not count what
// it holds. Agents for keys make that request, and end if it fails.
func hidings() []pattern {
	hide := []check{low(0, setDumpable), low(1, 0), high(1, 0)}
	return []pattern{
		allow(append(slices.Clone(hide), low(2, ServerMark&0xffffffff), high(2, ServerMark>>32))...),
		{hide, ignored},
	}
}

// reservations refuses the ways in which a program can use up disk space without writing. It also refuses those that make a new filesystem
// inside a folder, which no count of the folder enters.
func reservations() []pattern {
	var patterns []pattern
	for _, command := range []uint32{
		fsReserve, fsReserve64, fsZeroRange, fsSetAttributes, xfsAllocate, xfsAllocate64,
		btrfsSubvolume, btrfsSubvolume2, btrfsSnapshot, btrfsSnapshot2,
	} {
		patterns = append(patterns, pattern{[]check{low(1, command)}, noSuchIoctl})
	}
	return patterns
}

// sockets lets TCP and UDP through. Firewalls pass over what else there is (raw packets, SCTP, UDP-Lite, DCCP, multipath TCP),
// or have no rules for it.
func sockets(f Families) []pattern {
	patterns := []pattern{allow(low(0, afUnix))}
	for _, family := range []struct {
		number uint32
		has    bool
	}{{afINET, f.IPv4}, {afINET6, f.IPv6}} {
		if !family.has {
			continue
		}
		for _, kind := range []struct{ number, protocol uint32 }{
			{sockStream, 0}, {sockStream, protoTCP}, {sockDgram, 0}, {sockDgram, protoUDP},
		} {
			patterns = append(patterns, allow(low(0, family.number), check{word: 2, mask: sockType, is: kind.number}, low(2, kind.protocol)))
		}
		patterns = append(patterns, pattern{[]check{low(0, family.number)}, notPermitted})
	}
	return patterns
}

// toMany refuses the options with which a program sends to, or receives from, all of a network at once. The option to send broadcasts is
// ignored instead: a program in Go sets it on each UDP socket, and gets no socket if that fails. The kernel refuses a broadcast without it
// when it is sent.
func toMany() []pattern {
	options := []struct {
		level   uint32
		options []uint32
	}{
		{solIP, []uint32{ipAddMembership, ipAddSourceMember, mcastJoinGroup, mcastJoinSourceGroup}},
		{solIPv6, []uint32{ipv6JoinGroup, ipv6JoinAnycast, mcastJoinGroup, mcastJoinSourceGroup}},
	}
	patterns := []pattern{{[]check{low(1, solSocket), low(2, soBroadcast)}, ignored}}
	for _, l := range options {
		for _, o := range l.options {
			patterns = append(patterns, pattern{[]check{low(1, l.level), low(2, o)}, notPermitted})
		}
	}
	return patterns
}

// compile expects the number of the call in the accumulator, and leaves it there if the call is another one.
func (r rule) compile() []bpf.Instruction {
	var body []bpf.Instruction
	for _, p := range r.patterns {
		body = append(body, p.compile()...)
	}
	body = append(body, bpf.RetConstant{Val: r.otherwise})
	return append([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpEqual, Val: r.call, SkipFalse: uint8(len(body))}}, body...)
}

// compile continues behind the pattern if a check does not hold.
func (p pattern) compile() []bpf.Instruction {
	body := []bpf.Instruction{bpf.RetConstant{Val: p.ret}}
	for _, c := range slices.Backward(p.checks) {
		part := []bpf.Instruction{bpf.LoadAbsolute{Off: uint32(offsetArgs + 4*c.word), Size: 4}}
		if c.mask != 0xffffffff {
			part = append(part, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: c.mask})
		}
		part = append(part, bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.is, SkipFalse: uint8(len(body))})
		body = append(part, body...)
	}
	return body
}
