package lab

import (
	"embed"
	"fmt"
	"regexp"
)

// config holds the configuration files of the servers, which the containers use too. A placeholder
// is a name between two @ signs.
//
//go:embed config
var config embed.FS

var placeholder = regexp.MustCompile(`@[A-Z][A-Z0-9_]*@`)

// expand replaces the placeholders in s. A placeholder without a value is an error.
func expand(s string, values map[string]string) (string, error) {
	var err error
	out := placeholder.ReplaceAllStringFunc(s, func(name string) string {
		v, ok := values[name[1:len(name)-1]]
		if !ok && err == nil {
			err = fmt.Errorf("no value for %s", name)
		}
		return v
	})
	return out, err
}
