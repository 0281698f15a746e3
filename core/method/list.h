/* list.h -- the methods, one line each: METHOD(name) stands for struct sl_method sl_method_NAME, which the method's
 * room defines. The first is the default. table.c includes it twice, so it has no guard. */
METHOD(tsne)    /* core/embedding/method.c */
METHOD(kmeans)  /* core/kmeans/method.c */
METHOD(gmm)     /* core/gmm/method.c */
METHOD(sammon)  /* core/sammon/method.c */
METHOD(signal)  /* core/signal/method.c */
