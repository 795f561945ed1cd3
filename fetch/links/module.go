package links

import (
	"encoding/json"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// maxScript bounds a script in bytes, because it is kept in memory. Longer ones are not read for imports.
const maxScript = 16 << 20

// readScript yields the modules that a script imports by a constant reference, with the relation "import"
// (ECMAScript, section 16.2). It does not run the script. A name without a path, such as "react", needs a
// map and is omitted.
func readScript(r io.Reader, base uri.URI) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		text, err := io.ReadAll(io.LimitReader(r, maxScript+1))
		if err != nil {
			yield(fetch.Entry{}, err)
			return
		}
		if len(text) > maxScript {
			return
		}
		for ref := range imports(text) {
			e := entry(base, ref, "import")
			if isImport(ref) && e.Kind != fetch.EntryError && !yield(e, nil) {
				return
			}
		}
	}
}

// importingType returns the type of a script element in lower case if it may import modules, or "".
func importingType(kind string) string {
	kind = strings.ToLower(strings.TrimSpace(kind))
	if kind == "module" || kind == "importmap" {
		return kind
	}
	return ""
}

// scriptImports returns the modules that a script element of an importingType imports or maps names to (HTML,
// section 4.12.1.1).
func scriptImports(kind string, text []byte) iter.Seq[string] {
	switch kind {
	case "module":
		return imports(text)
	case "importmap":
		var m struct {
			Imports map[string]any            `json:"imports"`
			Scopes  map[string]map[string]any `json:"scopes"`
		}
		if json.Unmarshal(text, &m) != nil {
			break
		}
		var list []string
		scopes := slices.Collect(maps.Values(m.Scopes))
		for _, names := range append(scopes, m.Imports) {
			for _, target := range names {
				if ref, ok := target.(string); ok && !strings.HasSuffix(ref, "/") {
					list = append(list, ref)
				}
			}
		}
		slices.Sort(list)
		return slices.Values(slices.Compact(list))
	}
	return func(func(string) bool) {}
}

// isImport reports whether a module specifier is a URL (HTML, section 8.1.6.2).
func isImport(ref string) bool {
	scheme, _, ok := strings.Cut(ref, ":")
	return strings.HasPrefix(ref, "/") || strings.HasPrefix(ref, "./") || strings.HasPrefix(ref, "../") ||
		ok && isScheme(scheme)
}

// imports yields the strings after "import", "import(" and the "from" of an import or export.
func imports(text []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		lexer := js.NewLexer(parse.NewInputBytes(append(text[:len(text):len(text)], 0)[:len(text)]))
		var last, before js.TokenType // the tokens before the current one, without white space
		declares := false             // in an import or export, which may have a "from"
		var open []bool               // parentheses, and whether a statement follows them
		condition := false            // the last token closed one that a statement follows
		for {
			kind, token := lexer.Next()
			if (kind == js.DivToken || kind == js.DivEqToken) && (condition || !endsOperand(last)) {
				kind, token = lexer.RegExp()
			}
			switch kind {
			case js.ErrorToken:
				return
			case js.WhitespaceToken, js.LineTerminatorToken, js.CommentToken, js.CommentLineTerminatorToken:
				continue
			case js.ImportToken, js.ExportToken:
				declares = last != js.DotToken
			case js.StringToken:
				isImported := declares && (last == js.ImportToken || last == js.FromToken ||
					last == js.OpenParenToken && before == js.ImportToken)
				ref := string(token[1 : len(token)-1])
				if isImported && !strings.Contains(ref, `\`) && !yield(ref) {
					return
				}
				declares = false
			case js.SemicolonToken, js.EqToken:
				declares = false
			case js.OpenParenToken:
				open = append(open, last == js.IfToken || last == js.WhileToken || last == js.ForToken ||
					last == js.WithToken)
			}
			if condition = false; kind == js.CloseParenToken && len(open) > 0 {
				condition, open = open[len(open)-1], open[:len(open)-1]
			}
			before, last = last, kind
		}
	}
}

// endsOperand reports whether a slash after the token divides. Otherwise it begins a regular expression.
func endsOperand(t js.TokenType) bool {
	switch t {
	case js.CloseParenToken, js.CloseBracketToken, js.CloseBraceToken, js.StringToken, js.TemplateToken,
		js.TemplateEndToken, js.RegExpToken, js.ThisToken, js.SuperToken, js.NullToken, js.TrueToken,
		js.FalseToken, js.IncrToken, js.DecrToken, js.PrivateIdentifierToken:
		return true
	}
	return js.IsIdentifier(t) || js.IsNumeric(t)
}
