// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"slices"
	"strings"
)

// wrapper is how a program that starts another one reads its arguments.
type wrapper struct {
	// flags are the letters of short options, with a colon after those that take a value. Options end at the first operand.
	flags string
	// long are the names of long options, with "=" after those that take a value.
	long string
	// operands is how many operands come before the command.
	operands int
	// assigns is true if NAME=VALUE may come before the command.
	assigns bool
}

// wrapperOf returns how the program reads its arguments, nil if it is none that starts another one, or one whose arguments
// are not looked into.
func wrapperOf(name string) *wrapper {
	switch name {
	case "env":
		return &wrapper{flags: "i0vu:C:", long: "ignore-environment null debug unset= chdir=", assigns: true}
	case "nohup":
		return &wrapper{}
	case "command":
		return &wrapper{flags: "p"}
	case "builtin":
		return &wrapper{}
	case "exec":
		return &wrapper{flags: "cla:"}
	case "nice":
		return &wrapper{flags: "n:", long: "adjustment="}
	case "ionice":
		return &wrapper{flags: "c:n:t", long: "class= classdata= ignore"}
	case "time":
		return &wrapper{flags: "apvqo:f:", long: "append portability verbose quiet output= format="}
	case "timeout":
		return &wrapper{flags: "fpvk:s:", long: "foreground preserve-status verbose kill-after= signal=", operands: 1}
	case "stdbuf":
		return &wrapper{flags: "i:o:e:", long: "input= output= error="}
	case "setsid":
		return &wrapper{flags: "cfw", long: "ctty fork wait"}
	case "sudo":
		return &wrapper{flags: "AbEHknNPSu:g:h:p:C:r:t:T:U:D:R:", long: "preserve-env user= group= host= prompt= chdir= non-interactive", assigns: true}
	case "doas":
		return &wrapper{flags: "nu:C:"}
	case "xargs":
		return &wrapper{
			flags: "0rtpxoa:d:E:I:L:n:P:s:",
			long: "null no-run-if-empty verbose interactive exit open-tty arg-file= delimiter= max-lines= max-args= max-procs= max-chars= " +
				"process-slot-var=",
		}
	case "chroot":
		return &wrapper{long: "userspec= groups= skip-chdir", operands: 1}
	case "flock":
		return &wrapper{flags: "sxneuoFvw:E:", long: "shared exclusive nonblock unlock close no-fork verbose wait= timeout= conflict-exit-code=", operands: 1}
	case "busybox", "toybox":
		return &wrapper{}
	}
	return nil
}

// startsOthers reports whether a program starts others in ways that are not looked into.
func startsOthers(name string) bool {
	return slices.Contains(strings.Fields("parallel sem strace ltrace script su runuser pkexec unshare nsenter setpriv capsh prlimit taskset chrt "+
		"numactl setarch linux32 linux64 i386 x86_64 fakeroot fakechroot proot bwrap firejail xvfb-run dbus-run-session dbus-launch systemd-run "+
		"systemd-inhibit gdb valgrind perf rlwrap unbuffer expect entr inotifywait run-parts start-stop-daemon at batch crontab screen tmux "+
		"daemonize chpst softlimit setuidgid caffeinate proxychains proxychains4 torsocks torify tsocks eatmydata catchsegv faketime "+
		"zsh fish csh tcsh nu pwsh powershell xonsh elvish"), name)
}

// cut removes the wrapper's own arguments from the words. It is not ok if their end cannot be determined.
func (w *wrapper) cut(words []Word) (rest []Word, ok bool) {
	rest, ok = w.cutOptions(words)
	for range w.operands {
		if !ok || len(rest) == 0 {
			return nil, ok
		}
		rest, ok = rest[1:], rest[0].Static
	}
	for w.assigns && ok && len(rest) > 0 && rest[0].Static && strings.Contains(rest[0].Text, "=") {
		rest = rest[1:]
	}
	return rest, ok
}

// cutOptions takes the options off the words.
func (w *wrapper) cutOptions(words []Word) (rest []Word, ok bool) {
	for len(words) > 0 {
		text := words[0].Text
		switch {
		case !words[0].Static:
			// As the command it is unknown, and as an option it makes another word the command.
			return nil, false
		case text == "--":
			return words[1:], true
		case len(text) < 2 || text[0] != '-':
			return words, true
		}
		takesNext, known := w.option(text)
		if !known {
			return nil, false
		}
		words = words[1:]
		if takesNext {
			if len(words) == 0 || !words[0].Static {
				return nil, false
			}
			words = words[1:]
		}
	}
	return nil, true
}

// option reports whether an option is known, and whether the next word is its value.
func (w *wrapper) option(text string) (takesNext, known bool) {
	if long, isLong := strings.CutPrefix(text, "--"); isLong {
		name, _, given := strings.Cut(long, "=")
		for f := range strings.FieldsSeq(w.long) {
			if flag, takes := strings.CutSuffix(f, "="); flag == name {
				return takes && !given, true
			}
		}
		return false, false
	}
	for i := 1; i < len(text); i++ {
		at := strings.IndexByte(w.flags, text[i])
		switch {
		case at < 0 || text[i] == ':':
			return false, false
		case at+1 < len(w.flags) && w.flags[at+1] == ':':
			return i+1 == len(text), true
		}
	}
	return false, true
}

// wrapped adds the commands of a program that starts those in its arguments.
func (p *parser) wrapped(name string, w *wrapper, args []Word, c call) {
	if c.wrappers > maxWrappers {
		p.unknown("it is nested too deep", c.text)
		return
	}
	if name == "command" && len(args) > 0 && (args[0].Text == "-v" || args[0].Text == "-V") {
		return
	}
	rest, ok := w.cut(args)
	if !ok {
		p.unknown("what "+name+" runs cannot be told", c.text)
		return
	}
	if w.assigns {
		p.assignsOf(args[:len(args)-len(rest)])
	}
	switch {
	case name == "xargs":
		if rest, ok = xargs(args[:len(args)-len(rest)], rest); !ok {
			p.unknown("what xargs runs cannot be told", c.text)
			return
		}
	case name == "flock" && len(rest) > 0 && strings.HasPrefix(rest[0].Text, "-"):
		p.unknown("what "+name+" runs cannot be told", c.text)
		return
	case name == "env" && len(rest) > 0 && rest[0].Text == "-":
		rest = rest[1:]
		p.wrapped(name, w, rest, c.inner())
		return
	}
	p.command(rest, c.inner())
}

// assignsOf notes the variables that env and sudo set.
func (p *parser) assignsOf(own []Word) {
	for _, w := range own {
		if name, _, ok := strings.Cut(w.Text, "="); ok && !strings.HasPrefix(name, "-") {
			p.setForCommand(name)
		}
	}
}

// xargs returns the command that xargs starts: its input replaces a mark, or comes at the end. It is not ok if the mark cannot be
// determined.
func xargs(own, rest []Word) (started []Word, ok bool) {
	mark := ""
	for i, w := range own {
		switch at := strings.IndexByte(w.Text, 'I'); {
		case at < 1 || w.Text[0] != '-' || w.Text[1] == '-':
		case at > 1:
			// It is in a cluster with others, or in the value of another.
			return nil, false
		case len(w.Text) > 2:
			mark = w.Text[2:]
		case i+1 < len(own):
			mark = own[i+1].Text
		}
	}
	switch {
	case mark != "":
		return replaceMark(rest, mark, dynamic), true
	case len(rest) == 0:
		return nil, true
	}
	return append(slices.Clone(rest), many), true
}

// replaceMark replaces the words that have the mark in them with another word.
func replaceMark(list []Word, mark string, by Word) []Word {
	out := slices.Clone(list)
	for i, w := range out {
		if w.Static && strings.Contains(w.Text, mark) {
			out[i] = by
		}
	}
	return out
}

// find adds what find -exec runs.
func (p *parser) find(args []Word, c call) {
	ends := func(i int) bool {
		w := args[i]
		return w.Static && (w.Text == ";" || w.Text == "+" && i > 0 && args[i-1].Text == "{}")
	}
	last := len(args) - 1
	for last >= 0 && !ends(last) {
		last--
	}
	for i := 0; i < len(args); i++ {
		w := args[i]
		if !w.Many && (w.Static || i > last) && !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, w.Text) {
			continue
		}
		if !w.Static || i >= last {
			// It has no end, or may be an -exec itself.
			p.unknown("what find runs cannot be told", c.text)
			return
		}
		end := i + 1
		for !ends(end) {
			end++
		}
		by := dynamic
		if args[end].Text == "+" {
			by = many
		}
		p.command(replaceMark(args[i+1:end], "{}", by), c.inner())
		i = end
	}
}
