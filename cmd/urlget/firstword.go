package main

import (
	"os"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch/uri"
)

// foreignCommand returns the equivalent of a subcommand of another tool, or "".
func foreignCommand(word string) string {
	return map[string]string{
		"head": "urlget stat URL", "info": "urlget stat URL", "show": "urlget cat",
		"type": "urlget cat", "print": "urlget cat", "lcat": "urlget cat", "list": "urlget ls URL",
		"dir": "urlget ls URL", "lsd": "urlget ls URL", "lsf": "urlget ls URL",
		"lsl": "urlget ls -l URL", "nlist": "urlget ls URL", "cls": "urlget ls URL",
		"tree": "urlget ls -R URL", "fetch": "urlget URL", "download": "urlget URL",
		"copyid": "urlget URL", "get1": "urlget URL", "mget": "urlget URL", "open": "urlget URL",
		"pget": "urlget -s 4 URL", "copyurl": "urlget -O FILE URL",
		"copy": "urlget URL, or urlget -m URL for a tree",
		"cp":   "urlget URL, or urlget -m URL for a tree", "mirror": "urlget -m URL",
		"sync": "urlget -m URL", "crawl": "urlget -r URL", "recursive": "urlget -r URL",
		"why": "urlget explain URL", "plan": "urlget explain URL", "man": "man urlget",
		"usage": "urlget help", "protocols": "urlget schemes", "post": "urlget cat -d DATA URL",
		"form": "urlget cat --form 'Name=value' URL",
	}[word]
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
	case flags.Tool(word) != "":
		wrong.Hint = flags.Tool(word)
	case foreignCommand(word) == "urlget cat":
		wrong.Hint = flags.CatLine(args[1:])
	case foreignCommand(word) != "":
		wrong.Hint = "use " + foreignCommand(word)
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
	return flags.Tool(s) != "" ||
		s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-") == "" && s[0] != '-'
}
