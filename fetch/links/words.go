package links

// words finds values by the names of elements and attributes, in whatever case.
type words[V any] [256][]word[V]

type word[V any] struct {
	name  string // in lower case
	value V
}

// slot spreads the names of HTML well enough.
func slot[T string | []byte](name T) byte {
	if len(name) == 0 {
		return 0
	}
	return (name[0]|0x20)*7 + (name[len(name)-1]|0x20)*31 + byte(len(name))*59
}

func (w *words[V]) set(name string, value V) {
	i := slot(name)
	w[i] = append(w[i], word[V]{name, value})
}

func (w *words[V]) get(name []byte) (value V, ok bool) {
	for _, entry := range w[slot(name)] {
		if equalFold(name, entry.name) {
			return entry.value, true
		}
	}
	return value, false
}

// equalFold reports whether a name is lower, which is in lower case, except for the case of its letters.
func equalFold(name []byte, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
	for i, c := range name {
		if c != lower[i] && (c|0x20 != lower[i] || !isLetter(c)) {
			return false
		}
	}
	return true
}
