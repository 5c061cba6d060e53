// SPDX-License-Identifier: Apache-2.0

package script

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	valueName = regexp.MustCompile(`^[a-z]+$`)
	address   = regexp.MustCompile(`^([0-9a-fA-F.:\[\]]+):([0-9]{1,5})$`)
	// who is the name of a run in its task, "Play your part as NAME."
	who = regexp.MustCompile(`\bas ([A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)`)
	// attemptNumber counts from 1. The prompt of a first attempt does not name it.
	attemptNumber = regexp.MustCompile(`\battempt (\d{1,3}) at the task`)
)

var (
	errNoName   = errors.New("the task does not say as whom to play")
	errNoValue  = errors.New("the task has no such value")
	errBadValue = errors.New("the task has a value that cannot be used")
)

// Value returns VALUE where the task says name=VALUE, up to white space, and what is given otherwise.
func (d data) Value(name string, otherwise ...string) (string, error) {
	if !valueName.MatchString(name) {
		return "", fmt.Errorf("%q is not the name of a value", name)
	}
	found := regexp.MustCompile(`(?:^|\s)` + name + `=(\S+)`).FindStringSubmatch(d.Task())
	switch {
	case found != nil:
		return found[1], nil
	case len(otherwise) > 0:
		return otherwise[0], nil
	}
	return "", fmt.Errorf("%w: %s", errNoValue, name)
}

// Attempt is the number of the attempt, from 1.
func (d data) Attempt() (int, error) {
	found := attemptNumber.FindStringSubmatch(d.System())
	if found == nil {
		return 1, nil
	}
	return strconv.Atoi(found[1])
}

// Effect returns a bash command that has an effect which nothing can undo: it counts NAME.aATTEMPT.tTURN[.PART] at the
// model server's /effects, and then adds that line to the file effects. NAME is that of the run. The task says where the
// counter is, counter=IP:PORT.
func (d data) Effect(part ...string) (string, error) {
	counter, err := d.Value("counter")
	if err != nil {
		return "", err
	}
	at := address.FindStringSubmatch(counter)
	if at == nil {
		return "", fmt.Errorf("%w: counter=%s is not IP:PORT", errBadValue, counter)
	}
	name := who.FindStringSubmatch(d.Task())
	if name == nil {
		return "", errNoName
	}
	attempt, err := d.Attempt()
	if err != nil {
		return "", err
	}
	id := strings.Join(append([]string{name[1], fmt.Sprintf("a%d", attempt), fmt.Sprintf("t%d", d.Turn)}, part...), ".")
	return fmt.Sprintf(`{ exec 3<>/dev/tcp/%s/%s && printf 'POST /effects?id=%s HTTP/1.0\r\n\r\n' >&3 && read -r _ status _ <&3 && `+
		`exec 3>&- && [ "$status" = 200 ]; } || { echo "the counter does not answer"; exit 97; }; echo %s >> effects`,
		at[1], at[2], id, id), nil
}
