// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"slices"
	"strings"
	"testing"
)

// summary writes the commands of a line. Words that are not static are $, or $* if they may be several; the unknown are "?", and a script
// has "!" before it.
func summary(l List) string {
	out := make([]string, 0, len(l.Commands))
	for _, c := range l.Commands {
		if c.Unknown != "" {
			out = append(out, "?")
			continue
		}
		text := ""
		if c.Script {
			text = "!"
		}
		for i, w := range c.Words {
			if i > 0 {
				text += " "
			}
			switch {
			case w.Many:
				text += "$*"
			case !w.Static:
				text += "$"
			default:
				text += w.Text
			}
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " | ")
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{"", ""},
		{"# git push", ""},
		{"git push origin main", "git push origin main"},
		{"git\tpush; g\\it pu\\\nsh", "git push"},
		{`'git'"push" g""it 'p u'`, "gitpush git p u"},
		{`git "a\$b\"c\\d\e"`, `git a$b"c\d\e`},
		{`git $'\x67\t\'\141' $'é'`, "git g\t'a é"},
		{`git $'\xe9' $'\c[' $'\0' $'a\x00b' $'\u00e9' $'\q'`, "git $ $ $ $ $ $"},
		{`git $"x"`, "git $"},
		{`git "$x" $x "$@" "${a[@]}" ${#x} $? *.go a[bc] "*" "a"[b"]" {a,b} {} a{b x@{1}`, "git $ $* $* $* $ $ $* $* * a[b] $* {} a{b x@{1}"},
		{`git ~ ~/x a~ HEAD~1 a=~/x "~"`, "git $ $ a~ HEAD~1 $ ~"},
		{`git $(pwd) "$(pwd)" <(ls) $((1+1))`, "git $* $ $ $* | ls | pwd"},
		{"a && b || ! c; d & e | f |& g", "a | b | c | d | e | f | g"},
		{"(a; (b)); { c; }", "a | b | c"},
		{"if a; then b; elif c; then d; else e; fi", "a | b | c | d | e"},
		{"while a; do b; done; until c; do d; done", "a | b | c | d"},
		{`for i in 1 $(a); do b "$i"; done; for ((j=0;j<3;j++)); do c; done`, "a | b $ | c"},
		{"case $(a) in x) b;; *) c;; esac; select x in y; do d; done", "a | b | c | d"},
		{"f() { a; }; function g { b; }; f", "a | b | f"},
		{"[[ -n $(a) && $(b) == $(c) ]]; (( 1 + 2 )); time d; time -p e", "a | b | c | d | e"},
		{"x=$(a) y=1; z=$(b) c; d=(1 $(e))", "a | b | c | e"},
		{`echo "${x:-$(a)}" ${y/b/$(b)} ${z:$((1))} "${w[$(c)]}"`, "? | a | b | c | echo $* $* $* $"},
		{"cat <<EOF\n$(a) `b` ${x:-$(c)}\nEOF\n", "a | b | c | cat"},
		{"cat <<'EOF'\n$(a) `b`\nEOF\nd", "cat | d"},
		{"cat <<A <<\"B\"\n$(a)\nA\n$(b)\nB\n", "a | cat"},
		{"cat <<<\"$(a)\" > $(b) 2>&1", "? | a | b | cat"},
		{"echo x > out.txt 2>> err.log < in", "echo x"},
		{"echo x > /dev/tcp/192.0.2.1/80", "? | echo x"},
		{"exec 3<>/dev/udp/192.0.2.1/53", "? | exec"},
		{"coproc a; coproc x { b; }", "? | a | b"},
		{"export A=1 b; declare -x c=$x; local d; readonly e; let i=1", "declare -x $ | export A=1 b | let $* | local d | readonly e"},
		{"echo `a` `b \"c\"`", "a | b c | echo $* $*"},

		{"env -i A=b git push", "env -i A=b git push | git push"},
		{"env A=b -i git push", "-i git push | env A=b -i git push"},
		{"env -i -- A=b git push; env - x", "env - x | env -i -- A=b git push | git push | x"},
		{"nohup nice -n 5 timeout -k 1 10 stdbuf -oL setsid git push", "git push | nice -n 5 timeout -k 1 10 stdbuf -oL setsid git push | " +
			"nohup nice -n 5 timeout -k 1 10 stdbuf -oL setsid git push | setsid git push | stdbuf -oL setsid git push | " +
			"timeout -k 1 10 stdbuf -oL setsid git push"},
		{"command git; builtin echo; exec -a x git; command -v git; command -p git", "builtin echo | command -p git | command -v git | command git | echo | exec -a x git | git"},
		{"sudo -u root -E git push; doas git", "doas git | git | git push | sudo -u root -E git push"},
		{"find . -name x -exec git add {} + -ok rm {} \\;", "find . -name x -exec git add {} + -ok rm {} ; | git add $* | rm $"},
		{"find . -exec git + push \\;", "find . -exec git + push ; | git + push"},
		{"xargs rm -f; xargs -I% mv % %.bak; xargs -0 -n 1 sh -c 'a'", "a | mv $ $ | rm -f $* | sh -c a $* | xargs -0 -n 1 sh -c a | xargs -I% mv % %.bak | xargs rm -f"},
		{"bash -c 'a | b'; sh -ec 'c'; bash -lc -- d x; bash -o pipefail -c e", "a | b | bash -c a | b | bash -lc -- d x | bash -o pipefail -c e | c | d | e | sh -ec c"},
		{"bash x.sh; ./y.sh; sh; zsh x", "!./y.sh | !bash x.sh | ? | sh | zsh x"},
		{"eval 'a;' b; trap 'c' EXIT; trap - INT; watch -n 1 d e", "a | b | c | d e | eval a; b | trap - INT | trap c EXIT | watch -n 1 d e"},
		{"bash <<'E'\na $x\nE\nbash <<< 'b'; bash <<E\nc\nE", "a $* | b | bash | c"},
	} {
		l, err := Parse(c.line)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.line, err)
			continue
		}
		if got := summary(l); got != c.want {
			t.Errorf("Parse(%q)\n got %s\nwant %s", c.line, got, c.want)
		}
	}
}
