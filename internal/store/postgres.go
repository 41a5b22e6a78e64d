package store

import "context"

func (s *db) openServer(context.Context) error { return nil }
