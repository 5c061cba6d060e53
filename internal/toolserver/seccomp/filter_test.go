// SPDX-License-Identifier: Apache-2.0

package seccomp

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
)

// filtered runs a program on a call. The interpreter reads big-endian words, so each word of the kernel's is turned round.
func filtered(t *testing.T, program []bpf.Instruction, audit, call uint32, args ...uint64) uint32 {
	t.Helper()
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	data := binary.BigEndian.AppendUint32(nil, call)
	data = binary.BigEndian.AppendUint32(data, audit)
	data = append(data, make([]byte, 8)...)
	for i := range 6 {
		var arg uint64
		if i < len(args) {
			arg = args[i]
		}
		data = binary.BigEndian.AppendUint32(data, uint32(arg))
		data = binary.BigEndian.AppendUint32(data, uint32(arg>>32))
	}
	got, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(got)
}

const (
	cloexec  = 0o2000000
	nonblock = 0o4000
	// junk is in the half of an argument that the kernel does not look at.
	junk = 0xdeadbeef << 32
)

func TestFilter(t *testing.T) {
	four, six, both, none := Families{IPv4: true}, Families{IPv6: true}, Families{IPv4: true, IPv6: true}, Families{}
	type call struct {
		of   func(arch) uint32
		args []uint64
	}
	socket := func(args ...uint64) call { return call{func(a arch) uint32 { return a.socket }, args} }
	socketpair := func(args ...uint64) call { return call{func(a arch) uint32 { return a.socketpair }, args} }
	setsockopt := func(args ...uint64) call { return call{func(a arch) uint32 { return a.setsockopt }, args} }
	prlimit := func(args ...uint64) call { return call{func(a arch) uint32 { return a.prlimit64 }, args} }
	setpriority := func(args ...uint64) call { return call{func(a arch) uint32 { return a.setpriority }, args} }
	ioprio := func(args ...uint64) call { return call{func(a arch) uint32 { return a.ioprioSet }, args} }
	for name, test := range map[string]struct {
		families Families
		call     call
		want     uint32
	}{
		"unix":                         {none, socket(afUnix, sockStream), retAllow},
		"unix, sequenced packets":      {none, socket(afUnix, 5|cloexec), retAllow},
		"unix, junk above":             {none, socket(afUnix|junk, sockStream), retAllow},
		"tcp":                          {four, socket(afINET, sockStream, 0), retAllow},
		"tcp, by its number":           {four, socket(afINET, sockStream|cloexec|nonblock, protoTCP), retAllow},
		"udp":                          {four, socket(afINET, sockDgram, 0), retAllow},
		"udp, by its number":           {four, socket(afINET, sockDgram|cloexec, protoUDP), retAllow},
		"tcp6 without IPv6":            {four, socket(afINET6, sockStream, protoTCP), noSuchFamily},
		"tcp6 without IPv6, junk":      {four, socket(afINET6|junk, sockStream, protoTCP), noSuchFamily},
		"tcp6":                         {six, socket(afINET6, sockStream, protoTCP), retAllow},
		"udp6":                         {both, socket(afINET6, sockDgram, 0), retAllow},
		"tcp without IPv4":             {six, socket(afINET, sockStream, 0), noSuchFamily},
		"udp without anything":         {none, socket(afINET, sockDgram, 0), noSuchFamily},
		"raw":                          {four, socket(afINET, 3, 1), notPermitted},
		"raw6":                         {both, socket(afINET6, 3, 58), notPermitted},
		"ping":                         {four, socket(afINET, sockDgram, 1), notPermitted},
		"ping6":                        {both, socket(afINET6, sockDgram, 58), notPermitted},
		"udp-lite":                     {four, socket(afINET, sockDgram, 136), notPermitted},
		"sctp stream":                  {four, socket(afINET, sockStream, 132), notPermitted},
		"sctp packets":                 {four, socket(afINET, 5, 132), notPermitted},
		"dccp":                         {four, socket(afINET, 6, 33), notPermitted},
		"multipath tcp":                {four, socket(afINET, sockStream, 262), notPermitted},
		"l2tp":                         {four, socket(afINET, sockDgram, 115), notPermitted},
		"packet socket by its type":    {four, socket(afINET, 10, 0), notPermitted},
		"tcp, junk in the protocol":    {four, socket(afINET, sockStream, 132|junk), notPermitted},
		"udp type with the tcp number": {four, socket(afINET, sockDgram, protoTCP), notPermitted},
		"netlink":                      {both, socket(16, 3, 0), noSuchFamily},
		"packet":                       {both, socket(17, 3, 0), noSuchFamily},
		"vsock":                        {both, socket(40, sockStream, 0), noSuchFamily},
		"crypto":                       {both, socket(38, 5, 0), noSuchFamily},
		"bluetooth":                    {both, socket(31, 3, 1), noSuchFamily},
		"can":                          {both, socket(29, 3, 1), noSuchFamily},
		"smc":                          {both, socket(43, sockStream, 0), noSuchFamily},
		"xdp":                          {both, socket(44, 3, 0), noSuchFamily},
		"tipc":                         {both, socket(30, sockStream, 0), noSuchFamily},
		"a negative family":            {both, socket(0xffffffff, sockStream, 0), noSuchFamily},
		"a pair":                       {none, socketpair(afUnix, sockStream|cloexec), retAllow},
		"a pair of tipc":               {both, socketpair(30, sockStream), noSuchFamily},
		"a pair of tcp":                {both, socketpair(afINET, sockStream), noSuchFamily},

		"reuse an address":        {four, setsockopt(3, solSocket, 2), retAllow},
		"no delay":                {four, setsockopt(3, protoTCP, 1), retAllow},
		"an option of tcp's":      {four, setsockopt(3, protoTCP, soBroadcast), retAllow},
		"broadcast":               {four, setsockopt(3, solSocket, soBroadcast), ignored},
		"broadcast, junk":         {four, setsockopt(3, solSocket|junk, soBroadcast|junk), ignored},
		"join a group":            {four, setsockopt(3, solIP, ipAddMembership), notPermitted},
		"join a source's group":   {four, setsockopt(3, solIP, mcastJoinSourceGroup), notPermitted},
		"join a group of IPv6":    {both, setsockopt(3, solIPv6, ipv6JoinGroup), notPermitted},
		"keepalive of a socket":   {four, setsockopt(3, solSocket, 9), retAllow},
		"ttl":                     {four, setsockopt(3, solIP, 2), retAllow},
		"limits of one's own":     {four, prlimit(0, 1, 0x7fff12345678, 0), retAllow},
		"read limits of another":  {four, prlimit(1, 1, 0, 0x7fff12345678), retAllow},
		"limits of another":       {four, prlimit(1, 1, 0x7fff12345678, 0), notPermitted},
		"limits, low half is 0":   {four, prlimit(1, 1, 0x7fff00000000, 0), notPermitted},
		"limits, high half is 0":  {four, prlimit(1, 1, 0x1000, 0), notPermitted},
		"limits, junk":            {four, prlimit(1|junk, 1, 0x1000, 0), notPermitted},
		"be nice":                 {four, setpriority(prioProcess, 0, 10), retAllow},
		"be nice, as a group":     {four, setpriority(prioGroup, 0, 10), retAllow},
		"priority of another":     {four, setpriority(prioProcess, 1, 10), notPermitted},
		"priority of all of mine": {four, setpriority(2, 0, 10), notPermitted},
		"priority of my user":     {four, setpriority(2, 65532, 10), notPermitted},
		"idle disk":               {four, ioprio(ioprioProcess, 0, 3<<13), retAllow},
		"disk of another":         {four, ioprio(ioprioProcess, 1, 3<<13), notPermitted},
		"disk of my user":         {four, ioprio(3, 0, 3<<13), notPermitted},
		"scheduler of one's own":  {four, call{func(a arch) uint32 { return a.schedSetscheduler }, []uint64{0, 5}}, retAllow},
		"scheduler of another":    {four, call{func(a arch) uint32 { return a.schedSetscheduler }, []uint64{1, 5}}, notPermitted},
		"parameters of another":   {four, call{func(a arch) uint32 { return a.schedSetparam }, []uint64{1}}, notPermitted},
		"attributes of another":   {four, call{func(a arch) uint32 { return a.schedSetattr }, []uint64{1}}, notPermitted},
		"processors of another":   {four, call{func(a arch) uint32 { return a.schedSetaffinity }, []uint64{1}}, notPermitted},
		"processors of one's own": {four, call{func(a arch) uint32 { return a.schedSetaffinity }, []uint64{0}}, retAllow},
		"a hole":                  {four, call{func(a arch) uint32 { return a.fallocate }, []uint64{3, 3, 0, 1 << 30}}, retAllow},
		"room ahead":              {four, call{func(a arch) uint32 { return a.fallocate }, []uint64{3, 0, 0, 1 << 30}}, unsupported},
		"room ahead, size kept":   {four, call{func(a arch) uint32 { return a.fallocate }, []uint64{3, 1, 0, 1 << 30}}, unsupported},
		"a hole, and more":        {four, call{func(a arch) uint32 { return a.fallocate }, []uint64{3, 0x13, 0, 1 << 30}}, unsupported},
		"a range of zeros":        {four, call{func(a arch) uint32 { return a.fallocate }, []uint64{3, 0x11, 0, 1 << 30}}, unsupported},
		"room ahead by ioctl":     {four, call{func(a arch) uint32 { return a.ioctl }, []uint64{3, 0x4030582a | junk}}, noSuchIoctl},
		"an extent size":          {four, call{func(a arch) uint32 { return a.ioctl }, []uint64{3, 0x401c5820}}, noSuchIoctl},
		"a subvolume":             {four, call{func(a arch) uint32 { return a.ioctl }, []uint64{3, 0x5000940e}}, noSuchIoctl},
		"a terminal's size":       {four, call{func(a arch) uint32 { return a.ioctl }, []uint64{0, 0x5413}}, retAllow},
		"a ring":                  {four, call{func(a arch) uint32 { return a.ioUringSetup }, nil}, notPermitted},
		"a ring's work":           {four, call{func(a arch) uint32 { return a.ioUringEnter }, nil}, notPermitted},
		"a ring's files":          {four, call{func(a arch) uint32 { return a.ioUringRegister }, nil}, notPermitted},
		"asynchronous work":       {four, call{func(a arch) uint32 { return a.ioSetup }, nil}, noSuchCall},
		"hide":                    {four, call{func(a arch) uint32 { return a.prctl }, []uint64{4, 0}}, ignored},
		"hide, junk":              {four, call{func(a arch) uint32 { return a.prctl }, []uint64{4 | junk, 0, 1, 2, 3}}, ignored},
		"hide, half of the mark":  {four, call{func(a arch) uint32 { return a.prctl }, []uint64{4, 0, ServerMark & 0xffffffff}}, ignored},
		"hide, as the server":     {four, call{func(a arch) uint32 { return a.prctl }, []uint64{4, 0, ServerMark}}, retAllow},
		"show":                    {four, call{func(a arch) uint32 { return a.prctl }, []uint64{4, 1}}, retAllow},
		"a name":                  {four, call{func(a arch) uint32 { return a.prctl }, []uint64{15, 0}}, retAllow},
		"read":                    {none, call{func(arch) uint32 { return 63 }, []uint64{afINET6}}, retAllow},
	} {
		t.Run(name, func(t *testing.T) {
			for of, a := range map[string]arch{"amd64": amd64, "arm64": arm64} {
				if got := filtered(t, a.program(test.families), a.audit, test.call.of(a), test.call.args...); got != test.want {
					t.Errorf("%s: %#x, want %#x", of, got, test.want)
				}
			}
		})
	}
}

// The kernel's numbers of all requests that allocate space without a write, make a filesystem in a folder, or join a group are refused.
func TestEveryRequestThatIsRefused(t *testing.T) {
	type request struct {
		of   func(arch) uint32
		args []uint64
		want uint32
	}
	var requests []request
	for _, command := range []uint64{
		0x40305828, 0x4030582a, 0x40305839, 0x4030580a, 0x40305824, 0x401c5820, 0x5000940e, 0x50009418, 0x50009401, 0x50009417,
	} {
		requests = append(requests, request{func(a arch) uint32 { return a.ioctl }, []uint64{3, command}, noSuchIoctl})
	}
	for level, options := range map[uint64][]uint64{0: {35, 39, 42, 46}, 41: {20, 27, 42, 46}} {
		for _, option := range options {
			requests = append(requests, request{func(a arch) uint32 { return a.setsockopt }, []uint64{3, level, option}, notPermitted})
		}
	}
	for _, r := range requests {
		for of, a := range map[string]arch{"amd64": amd64, "arm64": arm64} {
			if got := filtered(t, a.program(Families{IPv4: true, IPv6: true}), a.audit, r.of(a), r.args...); got != r.want {
				t.Errorf("%s: call %d %#x: %#x, want %#x", of, r.of(a), r.args, got, r.want)
			}
		}
	}
}

// The calls of another ABI have other numbers: there, the number of socket is that of a harmless call.
func TestOtherABIs(t *testing.T) {
	const i386, socketcall, arm = 0x40000003, 102, 0x40000028
	both := Families{IPv4: true, IPv6: true}
	for name, test := range map[string]struct {
		arch              arch
		audit, call, want uint32
	}{
		"i386 socketcall": {amd64, i386, socketcall, retKill},
		"i386 socket":     {amd64, i386, 359, retKill},
		"x32 socket":      {amd64, amd64.audit, 0x40000000 + 41, noSuchCall},
		"x32 setsockopt":  {amd64, amd64.audit, 0x40000000 + 541, noSuchCall},
		"arm on arm64":    {arm64, arm, 281, retKill},
		"amd64 on arm64":  {arm64, amd64.audit, 41, retKill},
		"a negative call": {amd64, amd64.audit, 0xffffffff, noSuchCall},
		"amd64 as itself": {amd64, amd64.audit, 0, retAllow},
		"arm64 as itself": {arm64, arm64.audit, 63, retAllow}, // read; 0 is io_setup
	} {
		t.Run(name, func(t *testing.T) {
			if got := filtered(t, test.arch.program(both), test.audit, test.call, afINET, sockStream); got != test.want {
				t.Errorf("%#x, want %#x", got, test.want)
			}
		})
	}
}

// A jump over more than 255 instructions would be cut to another one in silence, and the kernel takes 4096 at most.
func TestFilterFits(t *testing.T) {
	for of, a := range map[string]arch{"amd64": amd64, "arm64": arm64} {
		both := Families{IPv4: true, IPv6: true}
		for _, r := range a.rules(both) {
			if n := len(r.compile()); n > 255 {
				t.Errorf("%s: the rule for call %d has %d instructions", of, r.call, n)
			}
		}
		raw, err := bpf.Assemble(a.program(both))
		if err != nil || len(raw) > 4096 {
			t.Errorf("%s: %d instructions: %v", of, len(raw), err)
		}
	}
}
