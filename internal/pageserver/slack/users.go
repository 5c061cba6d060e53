// SPDX-License-Identifier: Apache-2.0

package slack

import (
	"errors"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/yaml"

	"motorcortex.dev/motorcortex/internal/pageserver/oidc"
)

const (
	// maxUsers is the most bytes of the file with the users, and maxGroups the most groups of one.
	maxUsers, maxGroups = 1 << 20, 200
)

// Person is a user of the cluster, as Kubernetes names it.
type Person struct {
	User   string
	Groups []string
}

// mapping is the file that says which user of the cluster each person of Slack is.
type mapping struct {
	Users []mapped `json:"users"`
}

type mapped struct {
	// Team and ID are those of Slack, as in T024BE7LD and U012A3CDE. Another team can have the same id.
	Team string `json:"team"`
	ID   string `json:"id"`
	// Username and Groups are those of Kubernetes.
	Username string   `json:"username"`
	Groups   []string `json:"groups,omitempty"`
}

// errUnmapped reports a person of Slack who is no user of the cluster.
var errUnmapped = errors.New("the person of Slack is no user of the cluster")

// personOf returns the user of the cluster whom the file names for a person of Slack. A file with a mistake maps no one.
func personOf(file, team, id string) (Person, error) {
	users, err := readUsers(file)
	if err != nil {
		return Person{}, err
	}
	for _, u := range users {
		if u.Team == team && u.ID == id {
			return Person{User: u.Username, Groups: u.Groups}, nil
		}
	}
	return Person{}, errUnmapped
}

func readUsers(file string) ([]mapped, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxUsers+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxUsers {
		return nil, fmt.Errorf("%s has over %d bytes", file, maxUsers)
	}
	var m mapping
	if err := yaml.UnmarshalStrict(content, &m); err != nil {
		return nil, fmt.Errorf("%s is no list of users: %w", file, err)
	}
	known := map[[2]string]bool{}
	for i, u := range m.Users {
		key := [2]string{u.Team, u.ID}
		switch {
		case u.Team == "" || u.ID == "":
			return nil, fmt.Errorf("%s: users[%d] needs team and id", file, i)
		case known[key]:
			return nil, fmt.Errorf("%s: users[%d] is the second one for %s of the team %s", file, i, u.ID, u.Team)
		case len(u.Groups) > maxGroups:
			return nil, fmt.Errorf("%s: users[%d] has over %d groups", file, i, maxGroups)
		}
		known[key] = true
		for _, name := range append([]string{u.Username}, u.Groups...) {
			if err := oidc.CheckName(name); err != nil {
				return nil, fmt.Errorf("%s: users[%d]: the name %w", file, i, err)
			}
		}
	}
	return m.Users, nil
}
