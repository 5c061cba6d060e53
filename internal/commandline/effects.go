// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"slices"
	"strings"
)

// effects are programs that may do something outside of the machine that cannot be undone, and how to tell.
type effects struct {
	// programs by their names.
	programs string
	// writes are the words, beside options, that make the program do so.
	writes string
	// reads are the words that make it only read, unless there is one of writes too. Without any of both it counts as one
	// that does more. If there are no reads and no writes the program always does, and if there are no reads only by writes.
	reads string
	// hosts says that it does so if a word names another host, as in host:path.
	hosts bool
}

// outside lists the programs. A word of it that ends with a star stands for all that begin with it.
func outside() []effects {
	return []effects{
		{programs: "git", writes: "push send-email send-pack http-push imap-send dcommit submit alias.* remote-https remote-http"},
		{programs: "hg svn bzr jj", writes: "push commit ci import copy mkdir delete email"},
		{programs: "gh glab hub tea",
			reads: "view list status diff checks checkout clone browse search help version completion download ls get",
			writes: "create new edit close reopen merge delete comment note review ready transfer lock unlock pin unpin archive unarchive fork sync " +
				"rename set run rerun retry cancel upload enable disable add remove approve revoke update import login logout api link unlink develop"},
		{programs: "npm pnpm yarn bun lerna", writes: "publish unpublish deprecate undeprecate dist-tag access owner team token profile star unstar hook adduser login"},
		{programs: "twine", writes: "upload register"},
		{programs: "python python3 setup.py", writes: "upload register"},
		{programs: "cargo", writes: "publish yank owner login"},
		{programs: "gem", writes: "push yank owner signin"},
		{programs: "poetry uv flit hatch pdm rye maturin", writes: "publish upload"},
		{programs: "dotnet nuget", writes: "push delete"},
		{programs: "mvn mvnw gradle gradlew sbt", writes: "deploy* publish* release* upload* site-deploy"},
		{programs: "docker podman nerdctl buildah skopeo crane oras regctl cosign", writes: "push copy sync delete login attach sign upload mutate append --push"},
		{programs: "vsce ovsx clasp goreleaser semantic-release changeset", writes: "publish push release deploy unpublish"},
		{programs: "kubectl oc k kustomize",
			reads: "get describe logs top explain version api-resources api-versions cluster-info diff wait events config build help",
			writes: "apply create delete edit patch replace scale autoscale rollout set label annotate expose run exec cp drain cordon uncordon taint " +
				"attach port-forward proxy debug certificate adm login new-app"},
		{programs: "helm flux argocd",
			reads:  "list ls status get show template search lint version history repo env help diff check logs tree pull dependency",
			writes: "install upgrade uninstall delete rollback push create bootstrap sync suspend resume reconcile set add"},
		{programs: "terraform tofu terragrunt pulumi cdk",
			reads:  "plan fmt validate show output version graph providers init preview stack synth diff ls list get help",
			writes: "apply destroy import taint untaint state up refresh deploy rm login force-unlock"},
		{programs: "aws",
			reads: "ls help get-* list-* describe-* head-* lookup-* filter-* batch-get-* wait",
			writes: "cp mv rm sync mb rb put-* create-* delete-* update-* modify-* run-* start-* stop-* terminate-* reboot-* attach-* detach-* " +
				"associate-* disassociate-* add-* remove-* send-* publish publish-* invoke invoke-* deploy set-* register-* deregister-* tag-* untag-* " +
				"enable-* disable-* execute-* copy-* import-* restore-* revoke-* authorize-* batch-write-* batch-delete-* reset-* assume-role*"},
		{programs: "gcloud az gsutil bq doctl hcloud ibmcloud oci linode-cli scw",
			reads: "list describe show info version get get-value ls cat stat du help list-* show-*",
			writes: "create delete update set add remove deploy apply start stop restart reset cp mv rm rsync mb rb import export patch run call publish " +
				"submit rollback login ssh scp invoke enable disable attach detach resize move mk load insert query"},
		{programs: "vercel netlify flyctl fly heroku firebase wrangler serverless sls eb cf surge now railway render",
			reads: "list ls logs status info whoami help version", writes: "deploy publish destroy delete rm remove create set put scale restart promote rollback add up secrets"},
		{programs: "ssh sftp ftp lftp telnet nc ncat netcat socat mosh autossh sshpass ssh-copy-id tftp rlogin rsh websocat wscat grpcurl"},
		{programs: "mail mailx s-nail sendmail mutt neomutt msmtp swaks ssmtp exim exim4 postfix ntfy"},
		{programs: "http https xh xhs httpie ab wrk hey vegeta siege k6 locust"},
		{programs: "ansible ansible-playbook ansible-pull fab cap salt knife rclone s3cmd s4cmd s5cmd mc restic borg duplicity"},
		{programs: "scp rsync unison", hosts: true},
		{programs: "openssl", writes: "s_client ocsp"},
	}
}

// Outside finds a command that may do something outside of the machine that cannot be undone, as far as a list of known
// programs tells, nil if there is none. Sure is false if it may only come out of words that are not static. Of what cannot be
// told nothing is found here: see Untold.
func (l *List) Outside() (c *Command, sure bool) {
	programs := map[string]*effects{}
	for _, e := range outside() {
		for name := range strings.FieldsSeq(e.programs) {
			programs[name] = &e
		}
	}
	var maybe *Command
	for i := range l.Commands {
		c := &l.Commands[i]
		found, sure := c.outside(programs)
		if found && sure {
			return c, true
		}
		if found && maybe == nil {
			maybe = c
		}
	}
	return maybe, false
}

// outside judges a command. Where a program is not the command's name, what the arguments say counts, and not the name
// alone, which may be a file's.
func (c *Command) outside(programs map[string]*effects) (found, sure bool) {
	var seen []string
	for j, w := range c.Words {
		name := base(w.Text)
		e := programs[name]
		client := name == "curl" || name == "wget"
		if !w.Static || e == nil && !client || slices.Contains(seen, name) {
			// What the words after a later one say, those after the first say too.
			continue
		}
		seen = append(seen, name)
		var f, s bool
		if client {
			f, s = uploads(name, c.Words[j+1:], j == 0)
		} else {
			f, s = e.act(c.Words[j+1:], j == 0)
		}
		if s {
			return f, s
		}
		found = found || f
	}
	return found, false
}

func (e *effects) act(args []Word, isName bool) (found, sure bool) {
	read, write, untold := false, false, false
	for _, w := range args {
		switch {
		case !w.Static:
			// After a word that says that it reads it cannot say otherwise.
			untold = untold || !read
		case e.hosts:
			write = write || !strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, ":")
		case contains(e.writes, w.Text), strings.HasPrefix(w.Text, "-") && contains(e.writes, strings.TrimLeft(w.Text, "-")):
			write = true
		default:
			read = read || contains(e.reads, w.Text)
		}
	}
	switch {
	case write:
		return true, true
	case !isName:
		return false, false
	case e.reads == "" && e.writes == "" && !e.hosts:
		return true, true
	case e.reads != "" && !read:
		return len(args) > 0 && !helpOnly(args), !untold
	}
	return untold, false
}

// helpOnly says whether nothing but help or the version is asked for.
func helpOnly(args []Word) bool {
	return len(args) == 1 && slices.Contains([]string{"--help", "-h", "--version", "-v", "-V"}, args[0].Text)
}

// contains says whether a list of words has the word, or the beginning of it with a star.
func contains(list, word string) bool {
	for entry := range strings.FieldsSeq(list) {
		if prefix, ok := strings.CutSuffix(entry, "*"); entry == word || ok && strings.HasPrefix(word, prefix) {
			return true
		}
	}
	return false
}

// Options of curl and wget by which a request does more than get something, or may. curlValues are curl's letters whose
// value may stand in the same word.
const (
	curlLetters = "dFTKQ"
	curlValues  = "AbcCDeEHmoPrtuUwxXyYz"
	curlOptions = "data form upload-file json request config quote prequote postquote mail-from mail-rcpt append"
	wgetOptions = "post-data post-file method body-data body-file execute config"
)

// uploads says whether curl or wget does more than get something.
func uploads(name string, args []Word, isName bool) (found, sure bool) {
	untold := false
	for i, w := range args {
		var next string
		if i+1 < len(args) {
			next = args[i+1].Text
		}
		switch long, isLong := strings.CutPrefix(w.Text, "--"); {
		case !w.Static:
			untold = true
		case isLong && sends(name, long, next), !isLong && isOption(w.Text) && sendsShort(name, w.Text[1:], next):
			return true, true
		}
	}
	return untold && isName, false
}

// sends judges a long option, which may be abbreviated.
func sends(name, long, next string) bool {
	options := curlOptions
	if name == "wget" {
		options = wgetOptions
	}
	long, value, given := strings.Cut(long, "=")
	if !given {
		value = next
	}
	for o := range strings.FieldsSeq(options) {
		if long != "" && (strings.HasPrefix(long, o) || strings.HasPrefix(o, long)) {
			return o != "request" && o != "method" || !safeMethod(value)
		}
	}
	return false
}

// sendsShort judges a cluster of short options.
func sendsShort(name, letters, next string) bool {
	if name == "wget" {
		return strings.Contains(letters, "e")
	}
	for i := range len(letters) {
		c := letters[i : i+1]
		switch {
		case strings.Contains(curlLetters, c):
			return true
		case c == "X" && i+1 < len(letters):
			return !safeMethod(letters[i+1:])
		case c == "X":
			return !safeMethod(next)
		case strings.Contains(curlValues, c):
			return false
		}
	}
	return false
}

func safeMethod(m string) bool {
	return slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, strings.ToUpper(m))
}
