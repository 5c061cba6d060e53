// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// maxSource is the most characters of the code, as the API has it.
const maxSource = 65536

// The bounds of the time that code may take, as the API has them.
const (
	leastTime       = 100 * time.Millisecond
	mostTime        = 5 * time.Second
	mostNetworkTime = 30 * time.Second
)

// languages are those of the API.
var languages = []string{toolapi.LanguageJavaScript, toolapi.LanguagePython}

// byExtension are the languages of files.
var byExtension = map[string]string{
	".js": toolapi.LanguageJavaScript, ".mjs": toolapi.LanguageJavaScript, ".cjs": toolapi.LanguageJavaScript, ".py": toolapi.LanguagePython,
}

// validate checks the flags, and completes the language.
func (o *options) validate(file string) error {
	if o.language == "" {
		o.language = byExtension[strings.ToLower(filepath.Ext(file))]
	}
	switch most := mostTime; {
	case o.language == "":
		return verb.Misusedf("the name of the file does not tell the language: give --language %s", strings.Join(languages, " or "))
	case !slices.Contains(languages, o.language):
		return verb.Misusedf("--language %q is none of %s", o.language, strings.Join(languages, ", "))
	case len(o.domains) > 0:
		most = mostNetworkTime
		fallthrough
	default:
		if o.codeTimeout != 0 && (o.codeTimeout < leastTime || o.codeTimeout > most) {
			return verb.Misusedf("--code-timeout %s is not from %s to %s, which is the most with these flags", o.codeTimeout, leastTime, most)
		}
	}
	return nil
}

// read reads the code. Standard input may be a pipe that stays open, or a terminal: the context ends the wait for either.
func read(ctx context.Context, s verb.Streams, file string) (string, error) {
	in, name := s.In, "standard input"
	if file != "" && file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", verb.Misused(err)
		}
		defer f.Close()
		in, name = f, file
	} else if s.Terminal {
		fmt.Fprintln(s.Err, "note: the code is read from the terminal, until Ctrl-D")
	}
	type content struct {
		text []byte
		err  error
	}
	all := make(chan content, 1)
	// The program ends with this verb, and the goroutine with it.
	go func() {
		text, err := io.ReadAll(io.LimitReader(in, utf8.UTFMax*maxSource+1))
		all <- content{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", errors.New("interrupted; nothing was run")
	case c := <-all:
		switch {
		case c.err != nil:
			return "", verb.Misusedf("read the code: %w", c.err)
		case !utf8.Valid(c.text):
			return "", verb.Misusedf("%s is no text in UTF-8", name)
		case utf8.RuneCount(c.text) > maxSource:
			return "", verb.Misusedf("%s has more than %d characters", name, maxSource)
		case strings.TrimSpace(string(c.text)) == "":
			return "", verb.Misusedf("%s has no code", name)
		}
		return string(c.text), nil
	}
}
