package main

import (
	"os"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch/uri"
)

// foreignCommands maps subcommands of other tools to the equivalent here.
var foreignCommands = map[string]string{
	"head": "urlget stat", "info": "urlget stat", "show": "urlget cat", "type": "urlget cat",
	"print": "urlget cat",
	"list":  "urlget ls", "dir": "urlget ls", "lsd": "urlget ls", "lsl": "urlget ls -l", "nlist": "urlget ls",
	"fetch": "urlget", "download": "urlget", "copy": "urlget", "cp": "urlget", "pget": "urlget -s 4",
	"mget": "urlget",
	"wget": "urlget", "curl": "urlget", "aria": "urlget", "open": "urlget",
	"mirror": "urlget -m", "sync": "urlget -m", "crawl": "urlget -r", "recursive": "urlget -r",
	"why": "urlget explain", "plan": "urlget explain", "man": "man urlget", "usage": "urlget help",
	"copyurl": "urlget -O FILE", "copyid": "urlget", "lcat": "urlget cat", "get1": "urlget",
	"cls":       "urlget ls",
	"protocols": "urlget schemes", "post": "urlget -d DATA", "form": "urlget --form 'Name=value'",
}

// checkFirstWord rejects a first argument that is not a URL, file or command, before anything is
// retrieved.
func checkFirstWord(o *flags.Options, names, args []string) error {
	if len(args) == 0 || !isWord(args[0]) {
		return nil
	}
	word := args[0]
	if _, err := os.Lstat(word); err == nil {
		return nil // the error has a hint with its file URL
	}
	wrong := &failure.Usage{Text: `"` + word + `" is neither a command nor a URL`}
	near := uri.NearestScheme(word, names)
	switch {
	case word == "put" || word == "mput" || word == "upload":
		wrong.Hint = "urlget does not upload; to an HTTP server: urlget -X PUT --post-file FILE URL"
	case foreignCommands[word] != "":
		wrong.Hint = "use " + foreignCommands[word]
		for _, arg := range args[1:] {
			if u, err := uri.ParseLoose(arg); err == nil && u.IsAbs() {
				wrong.Hint += " " + flags.Quote(u.Redacted())
			}
		}
	case o.Misread(word) != "":
		wrong.Hint = o.Misread(word)
	case near != "":
		wrong.Hint = "did you mean urlget " + near + " ?"
	default:
		wrong.Hint = "for a host, use " + flags.Guessed + "://" + word + "/ ; the commands are: " +
			strings.Join(names, ", ")
	}
	return wrong
}

func isAbs(arg string) bool {
	u, err := uri.ParseLoose(arg)
	return err == nil && u.IsAbs()
}

func isWord(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-") == "" && s[0] != '-'
}
