// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/localfile"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/reply"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

const answerLong = `Answer a question of a run, also with files.

Without RUN the only run of the namespace that asks you a question is meant. At a terminal its question is shown, and the answer is read. The first
argument is always a RUN, and never the TEXT: words for a run that you have not named could be the answer to another question.`

func (c Command) answer() *cobra.Command {
	cmd, ch := c.verb(&cobra.Command{
		Long: answerLong,
		Use:  "answer [RUN] [TEXT]", Short: "Answer a question of a run, also with files.", Args: verb.Args("the name of the RUN?", "TEXT?"),
		Example: `  kubectl motor answer portfolio "skip it"
  kubectl motor answer portfolio --option 2
  kubectl motor answer portfolio "prices of today" --file portfolio.csv --file ~/strategy.md=notes/strategy.md
  kubectl motor answer portfolio --config-map prices/today.csv --artifact portfolio-june/artifacts/report.md=june.md
  kubectl motor answer portfolio               # shows the question, and reads the answer
  kubectl motor answer                         # of the only run of the namespace that asks one`,
	}, v1alpha1.InputQuestion)
	option := cmd.Flags().Int("option", 0, "number of one of the options of the question, instead of TEXT")
	paths := cmd.Flags().StringArray("file", nil, "a file to go with the answer: PATH, or PATH=NAME. It is answers/NAME in the workspace of the run. At most 8, of 128 KiB each.")
	refs := bindReferences(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		text := verb.Arg(args, 1)
		if err := words("TEXT", text); err != nil {
			return err
		}
		if text != "" && *option != 0 {
			return verb.Misusedf("give TEXT or --option")
		}
		files, err := readFiles(*paths)
		if err != nil {
			return err
		}
		s, err := c.find(cmd.Context(), verb.Arg(args, 0), ch)
		if _, none := errors.AsType[*lookup.NoRunError](err); none && len(args) == 1 {
			return fmt.Errorf("%w. If that is the answer, the RUN comes before it; without RUN \"kubectl motor answer\" asks for it", err)
		}
		if err != nil {
			return err
		}
		referred, err := refs.read(cmd.Context(), s)
		if err != nil {
			return err
		}
		files = append(files, referred...)
		if err := asks.CheckFiles(files); err != nil {
			return verb.Misused(err)
		}
		return c.answerWith(cmd.Context(), s, ch, text, *option, files)
	}
	return cmd
}

// readFiles reads the files of --file.
func readFiles(args []string) ([]v1alpha1.ResponseFile, error) {
	var files []v1alpha1.ResponseFile
	for _, arg := range args[:min(len(args), asks.MaxFiles+1)] {
		from, to := localfile.Split(arg)
		content, err := localfile.Read(from, asks.MaxFileBytes)
		if errors.Is(err, localfile.ErrTooLarge) {
			err = fmt.Errorf("it has more than %d bytes: put it into a ConfigMap, which files[].configMapKeyRef of a response names", asks.MaxFileBytes)
		}
		if err != nil {
			return nil, fmt.Errorf("--file %s: %w", from, err)
		}
		file, err := reply.File(to, content)
		if err != nil {
			return nil, fmt.Errorf("--file %s: %w", from, err)
		}
		files = append(files, file)
	}
	if err := asks.CheckFiles(files); err != nil {
		return nil, verb.Misused(err)
	}
	return files, nil
}

func (c Command) answerWith(ctx context.Context, s *reply.Ask, ch *choice, text string, option int, files []v1alpha1.ResponseFile) error {
	var err error
	switch {
	case option < 0 || option > len(s.Options):
		s.Print(c.Err, time.Now())
		return verb.Misusedf("--option %d: the question has %d options", option, len(s.Options))
	case option > 0:
		s.Print(c.Err, time.Now())
		text = s.Options[option-1]
		err = c.sure(ctx, ch, fmt.Sprintf("Send option %d: %s?", option, show.Line(text, maxTitle)))
	case text == "" && len(files) > 0:
		text = reply.Here(files)
		if ch.unseen() {
			s.Print(c.Err, time.Now())
		}
		err = c.sure(ctx, ch, "Send "+reply.Names(files)+"?")
	case text == "":
		s.Print(c.Err, time.Now())
		if !c.Terminal {
			return verb.Misusedf("the TEXT of the answer is missing")
		}
		text, err = c.readAnswer(ctx, s)
	}
	if err != nil {
		return err
	}
	done := "answered: " + show.Line(text, 6*len(text))
	if len(files) > 0 {
		done += ", with " + reply.Names(files)
	}
	return c.send(ctx, s, v1alpha1.Response{Answer: text, Files: files}, done)
}

// readAnswer reads an answer from the terminal: words, or the number of an option.
func (c Command) readAnswer(ctx context.Context, s *reply.Ask) (string, error) {
	prompt := "Answer: "
	if len(s.Options) > 0 {
		prompt = "Answer (a number chooses): "
	}
	for {
		line, err := c.read(ctx, prompt)
		if err != nil {
			return "", err
		}
		answer, _, err := s.Answer(line)
		switch {
		case errors.Is(err, reply.ErrNoOption):
			fmt.Fprintln(c.Err, err)
		case err != nil:
			return "", verb.Misused(err)
		default:
			return answer, nil
		}
	}
}
