// SPDX-License-Identifier: Apache-2.0

package commandline

import "strings"

// harmlessCommands are the commands that do nothing outside of the machine, whatever files there are and whatever the environment holds.
// They are programs of the system that read, compute, and write files, and that start no other program and open no connection. Git is not
// one of them, because the workspace's own configuration names programs that it starts. Neither is sed, which has a command to run others.
// Those at the end start others, which are judged by themselves.
var harmlessCommands = strings.Split(`: *|true *|false *|echo *|printf *|pwd *|cd *|ls *|cat *|head *|tail *|wc *|cut *|tr *|uniq *|tac *|rev *|nl *|paste *|comm *|cmp *|seq *|expr *|fold *|`+
	`sort|sort -n|sort -r|sort -u|grep *|egrep *|fgrep *|diff *|basename *|dirname *|realpath *|readlink *|stat *|du *|df *|date *|sleep *|whoami|id|uname *|hostname|which *|`+
	`mkdir *|rmdir *|touch *|cp *|mv *|rm *|ln *|chmod *|tee *|truncate *|mktemp *|md5sum *|sha1sum *|sha256sum *|sha512sum *|cksum *|base64 *|od *|xxd *|jq *|column *|`+
	`test *|[ *|read *|set *|shift *|unset *|exit *|return *|break *|continue *|local *|declare *|export *|readonly *|let *|getopts *|mapfile *|readarray *|trap *|wait *|kill *|jobs *|type *|umask *|`+
	`find *|xargs *|timeout *|nice *|time *|command *`, "|")

// NotHarmless returns the commands of the line that may do something outside of the machine, in their order. It returns none if plainly no
// command does: every one is of a short list. An unknown program counts as one that may.
func (l *List) NotHarmless() []string {
	var all []string
	for why := range l.unmatched(harmlessCommands) {
		all = append(all, why)
	}
	return all
}
